"""The set of rules in force: loaded from packs, selected, and applied to events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Event, Site
from gradcheck_tool.findings import Edit, Finding, Fix, Location, TraceStep
from gradcheck_tool.links import rule_link
from gradcheck_tool.rulebook.builtin import builtin_pack
from gradcheck_tool.rulebook.handlers import ON_FILE, judged_events
from gradcheck_tool.rulebook.pack import RulePackError, load_pack
from gradcheck_tool.rulebook.rule import ProposedFix, Replacement, Rule, Violation, by_site
from gradcheck_tool.rulebook.selection import (
    DEFAULT,
    UNUSED_SUPPRESSION,
    PreviewCodeError,
    UnknownCodeError,
    check_selectors,
    is_selected,
    spelt,
)
from gradcheck_tool.rulebook.stories import numbered
from gradcheck_tool.rulebook.triggers import is_named, triggers_of
from gradcheck_tool.sources.bindings import binds_as_much
from gradcheck_tool.sources.source import split_lines
from gradcheck_tool.spelling import nearest
from gradcheck_tool.trackers.events import NameUse
from gradcheck_tool.triage.triage import Triage

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.trackers.tracker import Tracker

__all__ = [
    "ProposedFix",
    "Replacement",
    "Rule",
    "RulePackError",
    "RuleSet",
    "UnknownCodeError",
    "Violation",
    "by_site",
]

Locate = Callable[[Site], Location]


class RuleSet:
    """Rules that are known, and those of them that are in force.

    Attributes:
        known: every rule of every pack, by code.
        active: the rules that `evaluate` applies, by code.
        strict: whether findings that assume something beyond the code are left out.
        is_whole: whether no pack was left out, which may have rules that selectors and comments name.
    """

    def __init__(
        self,
        known: Iterable[Rule],
        active: Iterable[Rule] | None = None,
        *,
        strict: bool = False,
        is_whole: bool = True,
    ) -> None:
        """`active` is every known rule that is on by default, when it is not given.

        Raises:
            RulePackError: two rules have the same code or the same name.
        """
        self.known = tuple(sorted(known, key=lambda rule: rule.code))
        _check_unique(self.known)
        on = [rule for rule in self.known if rule.default and not rule.preview]
        chosen = on if active is None else active
        self.active = tuple(sorted(chosen, key=lambda rule: rule.code))
        self.strict = strict
        self.is_whole = is_whole

    @classmethod
    def load(cls, packs: Iterable[Path] = (), *, builtin: bool = True, is_whole: bool = True) -> RuleSet:
        """The built-in rules and those of `packs`; rules that are on by default are in force.

        Raises:
            RulePackError: a pack cannot be loaded, or two rules share a code.
        """
        found = [
            *(_builtin_rules() if builtin else ()),
            *(rule for pack in packs for rule in load_pack(pack)),
        ]
        return cls((rule() for rule in found), is_whole=is_whole)

    def select(
        self,
        select: Sequence[str] = (DEFAULT,),
        extend_select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        target_torch: str | None = None,
        *,
        strict: bool = False,
        preview: bool = False,
    ) -> RuleSet:
        """The same rules with others in force. Selectors are codes, prefixes (`GL2`), `ALL`, `default`.

        `target_torch` drops rules that do not hold for that torch version, `strict` findings that assume
        something; `preview` adds rules that are still being tried out.

        Raises:
            UnknownCodeError: a selector matches no known rule, or names a preview rule without `preview`.
        """
        for key, selectors in (("select", select), ("extend-select", extend_select), ("ignore", ignore)):
            if self.is_whole:
                check_selectors(key, selectors, self.codes, self.names)
        wanted = [*select, *extend_select]
        kept = [rule for rule in self.known if preview or not rule.preview]
        unseen = {rule.code for rule in self.known} - {rule.code for rule in kept}
        for key, selectors in (("select", select), ("extend-select", extend_select)):
            for code in unseen.intersection(map(spelt, selectors)):
                raise PreviewCodeError(key, code)
        chosen = [
            rule
            for rule in kept
            if rule.holds_for(target_torch) and is_selected(rule.code, rule.default, wanted, ignore)
        ]
        return RuleSet(self.known, chosen, strict=strict, is_whole=self.is_whole)

    @property
    def codes(self) -> list[str]:
        """Every code that a selector may mean: those of the rules and of the run-time engine, and GL001."""
        from gradcheck_tool.codes import CODES

        return [UNUSED_SUPPRESSION, *(rule.code for rule in self.known), *CODES]

    @property
    def names(self) -> dict[str, str]:
        """The code of each rule's name, for hints: selectors are codes."""
        return {rule.name: rule.code for rule in self.known}

    def rule(self, code: str) -> Rule:
        """The known rule of this code (or name).

        Raises:
            UnknownCodeError: there is none.
        """
        for rule in self.known:
            if code in (rule.code, rule.name) or spelt(code) == rule.code:
                return rule
        raise UnknownCodeError("rule", code, nearest(spelt(code), [*self.codes, *self.names]))

    def rules(self, selector: str) -> list[Rule]:
        """The known rules that a code, a name or the beginning of codes means.

        Raises:
            UnknownCodeError: there is none.
        """
        begun = [rule for rule in self.known if rule.code.startswith(spelt(selector))]
        return begun or [self.rule(selector)]

    def evaluate(self, events: Iterable[Event], locate: Locate) -> list[Finding]:
        """Findings of the rules in force, sorted by place; one for each code and place.

        The first event at a place wins, as the interpreter reports the shortest story first; one that assumes
        nothing wins over one that does. A finding is of some units alone where all events at the place are.

        Raises:
            RulePackError: a rule raised an exception.
        """
        found: dict[tuple[str, Location], Finding] = {}
        units: dict[tuple[str, Location], set[str]] = {}
        for rule, draft in self._violations(tuple(events)):
            finding = _finish(rule, draft, locate)
            key = finding.code, finding.location
            units.setdefault(key, set()).add(draft.event.unit)
            known = found.setdefault(key, finding)
            if known.assumes and not finding.assumes:
                found[key] = finding
        marked = [
            finding if "" in units[key] else replace(finding, units=tuple(sorted(units[key])))
            for key, finding in found.items()
        ]
        return sorted(marked, key=Finding.sort_key)

    def finds(self, events: Iterable[Event]) -> bool:
        """Whether `evaluate` would find anything, asked without places.

        Raises:
            RulePackError: a rule raised an exception.
        """
        return next(self._violations(tuple(events)), None) is not None

    def needs(self, tracker: type[Tracker]) -> bool:
        """Does a rule in force name the tracker, or judge an event that it derives?"""
        named = any(tracker in rule.trackers or hasattr(rule, ON_FILE) for rule in self.active)
        return named or any(self._judges_of(kind) for kind in tracker.derives)

    @cached_property
    def triage(self) -> Triage:
        """What finds the functions that are worth executing for the rules in force."""
        return Triage(trigger for rule in self.active for trigger in triggers_of(type(rule)))

    @cached_property
    def trackers(self) -> list[type[Tracker]]:
        """The trackers that rules in force name, each once."""
        return list(dict.fromkeys(tracker for rule in self.active for tracker in rule.trackers))

    @cached_property
    def _takers(self) -> dict[type[Event], list[tuple[Rule, str]]]:
        """The rules in force that judge a class of events, each with its handler."""
        takers: dict[type[Event], list[tuple[Rule, str]]] = {}
        for rule in self.active:
            for name, kind in judged_events(type(rule)).items():
                if name != ON_FILE:
                    takers.setdefault(kind, []).append((rule, name))
        return takers

    @cached_property
    def _judges(self) -> dict[type[Event], list[tuple[Rule, str]]]:
        return {}

    def _judges_of(self, kind: type[Event]) -> list[tuple[Rule, str]]:
        """The rules in force that judge a class of events or one of its bases."""
        if kind not in self._judges:
            self._judges[kind] = [taker for base in kind.__mro__ for taker in self._takers.get(base, ())]
        return self._judges[kind]

    def _violations(self, events: tuple[Event, ...]) -> Iterator[tuple[Rule, Violation]]:
        for rule, draft in self._all_violations(events):
            if not (self.strict and draft.event.assumes):
                yield rule, draft

    def _all_violations(self, events: tuple[Event, ...]) -> Iterator[tuple[Rule, Violation]]:
        for event in events:
            for rule, handler in self._judges_of(type(event)):
                if isinstance(event, NameUse) and not is_named(event.name, rule.names):
                    continue
                yield from _call(rule, handler, event)
        for rule in self.active:
            if hasattr(rule, ON_FILE):
                yield from _call(rule, ON_FILE, events)


@cache
def _builtin_rules() -> list[type[Rule]]:
    """The built-in rules: their classes keep no state, so that all sets of rules share them."""
    return load_pack(builtin_pack())


def _check_unique(rules: Sequence[Rule]) -> None:
    owner: dict[str, Rule] = {}
    for rule in rules:
        for label in (rule.code, rule.name):
            if label in owner:
                here, there = type(rule).__name__, type(owner[label]).__name__
                raise RulePackError(f"two rules are called {label}: {there} and {here}")
            owner[label] = rule


def _call(rule: Rule, handler: str, argument: Event | tuple[Event, ...]) -> list[tuple[Rule, Violation]]:
    try:
        return [(rule, draft) for draft in getattr(rule, handler)(argument)]
    except Exception as error:
        raise RulePackError(f"rule {rule.code}: {handler} failed: {type(error).__name__}: {error}") from error


def _finish(rule: Rule, draft: Violation, locate: Locate) -> Finding:
    location = locate(draft.site)
    trace = numbered(draft.event.story, locate)
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        message=draft.message,
        location=location,
        predicts=draft.predicts,
        trace=trace + _ending(location, trace) if rule.effect == "raises" and draft.predicts else trace,
        fix=_finish_fix(draft.fix, locate) if draft.fix else None,
        url=rule_link(rule.code),
        assumes=tuple(dict.fromkeys(draft.event.assumes)),
        unless=draft.event.unless,
        unless_set=draft.event.unless_set,
    )


def _ending(location: Location, story: Sequence[TraceStep]) -> tuple[TraceStep, ...]:
    """How the story of a predicted error ends, where it does not say that itself."""
    told = any(step.location == location or "raises" in step.message for step in story)
    return () if told or not story else (TraceStep(location, "PyTorch raises here", "raised"),)


def _finish_fix(fix: ProposedFix, locate: Locate) -> Fix | None:
    """The fix in rows and columns; None where it would put a statement where its names mean nothing."""
    edits = tuple(_edit(part, locate(part.site)) for part in fix.replacements)
    for part, edit in zip(fix.replacements, edits, strict=True):
        if part.insert and not _is_bound(part.site.module.source.removeprefix("\ufeff"), edit):
            return None
    return Fix(fix.applicability, fix.message, edits)


def _is_bound(source: str, insertion: Edit) -> bool:
    """Are all names in an insertion bound where it goes?"""
    lines, row, column = split_lines(source), insertion.start.row - 1, insertion.start.column - 1
    lines[row] = lines[row][:column] + insertion.content + lines[row][column:]
    return binds_as_much(source, "\n".join(lines))


def _edit(part: Replacement, place: Location) -> Edit:
    if not part.insert:
        return Edit(part.content, place.start, place.end)
    indent = " " * (place.start.column - 1)
    return Edit(f"{part.content}\n{indent}", place.start, place.start)
