"""The static engine on one program: text in, findings out, no output of its own.

This is the only place that knows the rounds of looking at a file, executing it and judging what happened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.call_stack import with_room
from gradcheck_tool.analysis.import_context import Extent, ImportContext
from gradcheck_tool.analysis.later_findings import errors, is_news, staying
from gradcheck_tool.findings import Finding
from gradcheck_tool.rulebook.stories import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.analysis.plans import ExecutionPlan
    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.findings import Location, TraceStep
    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.ir.outline import Outline
    from gradcheck_tool.rulebook.ruleset import RuleSet
    from gradcheck_tool.trackers.tracker import Tracker
    from gradcheck_tool.triage.triage import Candidates

# How often a program is executed again, with what was found before taken for mended.
MOST_MENDINGS = 5


def check_source(
    source: str,
    filename: str,
    ruleset: RuleSet,
    surroundings: ImportContext | None = None,
) -> list[Finding]:
    """Check one program, whatever its suppression comments say.

    Args:
        source: Python code.
        filename: the name that findings carry.
        ruleset: the rules to judge by.
        surroundings: the rest of the repository.

    Returns:
        Findings in order of place.

    Raises:
        libcst.ParserSyntaxError: the program is not Python.
    """
    return with_room(lambda: _check(source, filename, ruleset, surroundings or ImportContext()))


def _check(source: str, filename: str, ruleset: RuleSet, around: ImportContext) -> list[Finding]:
    from gradcheck_tool.ir.outline import outline

    outlined = outline(source)
    around.pace.pause()
    candidates = (
        None if outlined is None else ruleset.triage.candidates(outlined, around.leads, around.computes)
    )
    if candidates is not None and not candidates:
        return []
    from gradcheck_tool.ir.spans import UnplacedError

    program = _Program(source, filename, outlined, candidates, around)
    for step in program.rounds():
        events = program.execute(step, ruleset)
        if step.is_look:
            program.is_promising = ruleset.finds(events)
            continue
        try:
            return _with_later(program, step, ruleset, events)
        except UnplacedError:
            if step.is_whole:
                raise
    return []


def recorded_story(
    source: str,
    filename: str,
    ruleset: RuleSet,
    is_wanted: Callable[[Finding], bool],
    surroundings: ImportContext | None = None,
) -> tuple[TraceStep, ...]:
    """The story of a finding with what else happens to its tensors on the way, from one more execution.

    It is empty where that execution does not lead to the finding, which the mistakes before it may prevent.
    """
    around = surroundings or ImportContext()
    return with_room(lambda: _recorded(source, filename, ruleset, is_wanted, around))


def _recorded(
    source: str,
    filename: str,
    ruleset: RuleSet,
    is_wanted: Callable[[Finding], bool],
    around: ImportContext,
) -> tuple[TraceStep, ...]:
    from gradcheck_tool.analysis.recorded import told_with
    from gradcheck_tool.ir.outline import outline
    from gradcheck_tool.ir.spans import UnplacedError
    from gradcheck_tool.trackers.recording import recorder

    program = _Program(source, filename, outline(source), None, around)
    for step in program.rounds():
        try:
            tracker = recorder()
            for event in program.execute(step, ruleset, recording=(tracker,)):
                found = [one for one in ruleset.evaluate([event], _locate) if is_wanted(one)]
                if found:
                    return _ended(numbered(told_with(tracker.moments, event), _locate), found[0])
        except UnplacedError:
            continue
        return ()
    return ()


def _ended(steps: tuple[TraceStep, ...], finding: Finding) -> tuple[TraceStep, ...]:
    """The steps, which end in the words of the finding's own story where both end at its place."""
    last = finding.trace[-1] if finding.trace else None
    if last is None or not steps or not last.location == steps[-1].location == finding.location:
        return steps
    return (*steps[:-1], replace(steps[-1], message=last.message, kind=last.kind))


def _with_later(program: _Program, step: _Round, ruleset: RuleSet, events: Sequence[Event]) -> list[Finding]:
    """The findings, and those that show up once the errors that end the run are mended."""
    found = ruleset.evaluate(events, _locate)
    mended: dict[int, Location] = {}
    stays: set[int] = set()
    for _ in range(MOST_MENDINGS):
        raising = [site for site in errors(events) if id(site.node) not in mended]
        if not raising or program.is_hurried:
            break
        mended.update((id(site.node), _locate(site)) for site in raising)
        stays |= staying(events)
        places = [place for node, place in mended.items() if node in stays]
        plan = replace(step.plan, mended=frozenset(mended))
        events = program.execute(replace(step, plan=plan), ruleset, is_again=True)
        for finding in ruleset.evaluate(events, _locate):
            if is_news(finding, found, mended.values(), places):
                found.append(finding)
    return sorted(found, key=Finding.sort_key)


@dataclass(frozen=True)
class _Round:
    """One execution of a program or a part of it.

    Attributes:
        module: what is executed.
        plan: how much of it.
        is_look: it only tells whether another round is worthwhile.
        is_whole: the module is whole, and places can be told.
    """

    module: ModuleIR
    plan: ExecutionPlan
    is_look: bool = False
    is_whole: bool = False


class _Program:
    """A program on its way through the rounds.

    Attributes:
        is_promising: whether the last look gave a finding.
    """

    def __init__(
        self,
        source: str,
        filename: str,
        outlined: Outline | None,
        candidates: Candidates | None,
        around: ImportContext,
    ) -> None:
        """`outlined` and `candidates` are None where Python's parser refuses the program."""
        self._source = source
        self._filename = filename
        self._outline = outlined
        self._candidates = candidates
        self._around = around
        self.is_promising = False

    @property
    def is_hurried(self) -> bool:
        """Is a quick answer wanted, which will not be all that there is to find?"""
        return self._around.pace.is_quick and self._around.extent.is_short

    def rounds(self) -> Iterator[_Round]:
        """The executions, each of which is asked for when those before have not settled the findings.

        A program is executed as light nodes; only where they do not tell a finding's place it is parsed by
        libcst. Where it does not run by itself, a look comes first.
        """
        from gradcheck_tool.analysis.plans import ExecutionPlan
        from gradcheck_tool.ir.lower import lower_light, lower_module, lower_outline

        candidates = self._candidates
        self._around.pace.pause()
        if self._outline is not None:
            if candidates is not None and not candidates.body:
                part = lower_outline(self._outline, self._filename, candidates.functions)
                yield _Round(part, ExecutionPlan.look(part, candidates), is_look=True)
                if not self.is_promising:
                    return
            module = lower_light(self._outline, self._filename)
            yield _Round(module, ExecutionPlan.whole(module, candidates))
        module = lower_module(self._source, self._filename)
        yield _Round(module, ExecutionPlan.whole(module, candidates), is_whole=True)

    def execute(
        self,
        step: _Round,
        ruleset: RuleSet,
        *,
        is_again: bool = False,
        recording: tuple[type[Tracker], ...] = (),
    ) -> Sequence[Event]:
        """What happens in a round, for rules in force; `is_again`: how far it goes has been noted."""
        from gradcheck_tool.analysis.entries import analyze, needed
        from gradcheck_tool.rulebook.pack import RulePackError
        from gradcheck_tool.trackers.hearing import TrackerError

        around = self._around
        imports = around.imports if step.is_whole else around.partial_imports or around.imports
        extent = Extent() if is_again else around.extent
        try:
            return analyze(
                step.module,
                imports,
                around.pace.of(step.plan, self._filename),
                extent,
                [*needed(ruleset), *recording],
                around.models,
                around.elsewhere,
            )
        except TrackerError as error:
            raise RulePackError(str(error)) from error
        finally:
            around.extent.is_short |= extent.is_short
            around.pace.learn(self._filename, extent.long)


def _locate(site: Site) -> Location:
    from gradcheck_tool.ir.positions import locate

    return locate(site.module, site.node)
