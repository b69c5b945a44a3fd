"""What a rule is: a class with documentation, metadata and one method for each event it judges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from gradcheck_tool.domain import events
from gradcheck_tool.domain.events import Event, Site
from gradcheck_tool.findings import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Severity
    from gradcheck_tool.trackers.tracker import Tracker
    from gradcheck_tool.trigger import Trigger

EventT = TypeVar("EventT", bound=Event)

_ERRORS = (events.EngineError, events.PythonError)

Effect = Literal["raises", "silent", "warns"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """New text for a node, or, with `insert`, a statement put on a line of its own before it."""

    site: Site
    content: str
    insert: bool = False


@dataclass(frozen=True, slots=True)
class ProposedFix:
    """A fix before anyone knows rows and columns: all replacements are made together."""

    applicability: Applicability
    message: str
    replacements: tuple[Replacement, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """A finding before anyone knows rows and columns: `Rule.finding` makes it, `RuleSet.evaluate` ends it."""

    event: Event
    site: Site
    message: str
    predicts: str | None
    fix: ProposedFix | None


class Rule:
    """Base class of all rules. A rule pack's file defines one subclass.

    The class docstring has the headings `## What it detects`, `## Why it is wrong`, `## Example`,
    `## Use instead`, `## Fix safety` (where it has a fix) and `## References`. Methods named after
    events (`on_freed_graph` for `FreedGraph`) get the event and yield what `finding` returns; a method
    `on_file` gets the sequence of all events of a file, for verdicts that need to see every visit of a
    place. Rules keep no state.

    Attributes:
        code: two or more letters and three digits, unique over all packs.
        name: kebab-case; reads as "allow NAME".
        severity: how much a finding matters.
        effect: `raises` (PyTorch raises at the place), `silent` (nothing is said, the result is
            wrong or memory grows) or `warns` (PyTorch warns, or the name is obsolete).
        default: whether the rule is on when nothing is selected.
        preview: whether the rule is still being tried out: it is on with `--preview` only.
        predicts: the text that PyTorch raises or warns (alternatives with ` | ` between them, `...` for what
            depends on the program), or the silent effect in words.
        since, until: first torch version the rule holds for, and first it no longer holds for.
        trackers: what the rule needs besides the trackers that report the events it judges: its own.
        of_unused_values: whether its findings are expressions whose values are discarded. The last one of
            a notebook's cell is shown instead, and is no finding.
        names: full names of a library that `on_name_use` is called for; with `.*` at the end, all that begin
            so. Functions that have one of them in their code are executed.
        triggers: what makes a function that nothing calls worth executing for this rule; `when` has the
            common ones. With them, `names` are not looked for.
        symptom: for silent rules, a program run after `Example` in the same namespace. Its
            assertions hold there and fail after `Use instead`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity]
    effect: ClassVar[Effect] = "raises"
    default: ClassVar[bool] = True
    preview: ClassVar[bool] = False
    predicts: ClassVar[str | None] = None
    since: ClassVar[str | None] = None
    until: ClassVar[str | None] = None
    trackers: ClassVar[tuple[type[Tracker], ...]] = ()
    of_unused_values: ClassVar[bool] = False
    names: ClassVar[tuple[str, ...]] = ()
    triggers: ClassVar[tuple[Trigger, ...]] = ()
    symptom: ClassVar[str] = ""

    def finding(
        self,
        event: Event,
        message: str,
        advice: str | None = None,
        *,
        site: Site | None = None,
        fix: ProposedFix | None = None,
    ) -> Violation:
        """Report `event`: `message` says what happens here, `advice` what to do about it.

        Both are written without a final full stop. `site` moves the finding away from the event's
        own place. What PyTorch or Python raises at an event takes the place of the rule's `predicts`.
        """
        text = message if advice is None else f"{message}; {advice}"
        predicts = event.text if isinstance(event, _ERRORS) else self.predicts
        return Violation(event, site or event.site, text, predicts, fix)

    def safe_fix(self, message: str, *parts: Replacement | None) -> ProposedFix | None:
        """A fix that keeps values and graph, or only takes an error away; None where a part is None."""
        return _fix(Applicability.SAFE, message, parts)

    def unsafe_fix(self, message: str, *parts: Replacement | None) -> ProposedFix | None:
        """A fix that needs a reader's eye; None where a part is None."""
        return _fix(Applicability.UNSAFE, message, parts)

    @classmethod
    def holds_for(cls, torch: str | None) -> bool:
        """Whether the rule holds for this torch version; every rule does when None is asked."""
        if torch is None:
            return True
        version = version_key(torch)
        return not (
            (cls.since is not None and version < version_key(cls.since))
            or (cls.until is not None and version >= version_key(cls.until))
        )


def _fix(kind: Applicability, message: str, parts: tuple[Replacement | None, ...]) -> ProposedFix | None:
    known = tuple(part for part in parts if part is not None)
    return ProposedFix(kind, message, known) if len(known) == len(parts) else None


def by_site(happened: Iterable[Event], kind: type[EventT]) -> dict[Site, list[EventT]]:
    """The events of one kind, by place, in the order in which the place was visited."""
    visits: dict[Site, list[EventT]] = {}
    for event in happened:
        if isinstance(event, kind):
            visits.setdefault(event.site, []).append(event)
    return visits


def version_key(version: str) -> tuple[int, ...]:
    """The numbers that start a version, for comparison: `2.13.0+cpu` -> (2, 13, 0)."""
    match = re.match(r"\d+(\.\d+)*", version.strip())
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    return tuple(int(part) for part in match.group().split("."))
