"""How events become findings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gradcheck_tool.domain.events import (
    EngineError,
    Event,
    FreedGraph,
    Site,
    StoryStep,
)
from gradcheck_tool.findings import Applicability, Edit, Location, Position, Severity
from gradcheck_tool.rulebook.pack import RulePackError
from gradcheck_tool.rulebook.rule import ProposedFix, Replacement, Rule, Violation
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.trackers.events import BackwardCall, OptimizerStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def site(row: int, column: int = 1) -> Site:
    """A place whose node is its row and column."""
    return Site(module=None, node=(row, column))  # type: ignore[arg-type]


def locate(place: Site) -> Location:
    row, column = place.node
    return Location("train.py", Position(row, column), Position(row, column + 4))


def backward(row: int, root: str = "loss", **more: Any) -> BackwardCall:
    return BackwardCall(site=site(row), root=root, retain_graph=False, create_graph=False, **more)


class EveryBackward(Rule):
    code = "XX001"
    name = "every-backward"
    severity = Severity.INFO
    effect = "silent"
    predicts = "nothing"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        yield self.finding(event, f"backward of {event.root}", "leave it")


class EveryError(Rule):
    code = "XX002"
    name = "every-error"
    severity = Severity.ERROR
    predicts = "something"

    def on_engine_error(self, event: EngineError) -> Iterator[Violation]:
        yield self.finding(event, "it raises")


class StepsTwice(Rule):
    code = "XX003"
    name = "steps-twice"
    severity = Severity.WARNING

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        steps = [event for event in events if isinstance(event, OptimizerStep)]
        if len(steps) > 1:
            yield self.finding(steps[1], "second step", site=steps[0].site)


class Fails(Rule):
    code = "XX004"
    name = "fails"
    severity = Severity.WARNING

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        raise KeyError(event.root)


def freed(row: int) -> FreedGraph:
    story = (StoryStep(site(1), "saved here"), StoryStep(site(2), "freed here"))
    return FreedGraph(
        site=site(row),
        story=story,
        text="a second time",
        root="loss",
        op="exp",
        freed_by="b()",
        cause="same-root",
    )


def test_findings_are_sorted_and_say_what_to_do() -> None:
    findings = RuleSet([EveryBackward()]).evaluate([backward(7, "b"), backward(3, "a")], locate)
    assert [finding.message for finding in findings] == ["backward of a; leave it", "backward of b; leave it"]
    assert findings[0].predicts == "nothing"
    assert findings[0].url == ""


def test_one_finding_for_a_code_and_place_and_the_first_wins() -> None:
    findings = RuleSet([EveryBackward()]).evaluate([backward(3, "first"), backward(3, "second")], locate)
    assert [finding.message for finding in findings] == ["backward of first; leave it"]


def test_the_trace_is_the_story_and_the_prediction_is_the_engines_text() -> None:
    (finding,) = RuleSet([EveryError()]).evaluate([freed(9)], locate)
    assert finding.predicts == "a second time"
    assert [(step.location.start.row, step.message) for step in finding.trace] == [
        (1, "saved here"),
        (2, "freed here"),
        (9, "PyTorch raises here"),
    ]


def test_a_rule_may_judge_all_events_of_a_file_and_point_elsewhere() -> None:
    steps = [OptimizerStep(site=site(row), optimizer="opt", gradients=frozenset()) for row in (4, 6)]
    (finding,) = RuleSet([StepsTwice()]).evaluate(steps, locate)
    assert finding.location.start.row == 4


def test_rules_that_are_not_in_force_do_not_judge() -> None:
    rules = RuleSet([EveryBackward(), EveryError()]).select(["XX002"])
    assert rules.evaluate([backward(3)], locate) == []


def test_a_rule_that_fails_is_named() -> None:
    with pytest.raises(RulePackError, match="XX004: on_backward_call failed: KeyError"):
        RuleSet([Fails()]).evaluate([backward(3)], locate)


def test_replacements_become_edits() -> None:
    class Fixed(EveryBackward):
        def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
            parts = (Replacement(inside, "clear()", insert=True), Replacement(event.site, "done"))
            yield self.finding(event, "x", fix=ProposedFix(Applicability.UNSAFE, "do both", parts))

    source = "from a import clear\nif clear:\n    loss = 1\n    loss\n    loss\n"
    inside = Site(module=SimpleNamespace(source=source), node=(5, 5))  # type: ignore[arg-type]
    (finding,) = RuleSet([Fixed()]).evaluate([backward(3)], locate)
    assert finding.fix is not None
    assert finding.fix.edits == (
        Edit("clear()\n    ", Position(5, 5), Position(5, 5)),
        Edit("done", Position(3, 1), Position(3, 5)),
    )


def test_a_statement_whose_names_are_not_bound_is_no_fix() -> None:
    class Fixed(EveryBackward):
        def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
            parts = (Replacement(inside, "self.clear()", insert=True),)
            yield self.finding(event, "x", fix=ProposedFix(Applicability.UNSAFE, "clear", parts))

    inside = Site(module=SimpleNamespace(source="loss = 1\nloss\n"), node=(2, 1))  # type: ignore[arg-type]
    (finding,) = RuleSet([Fixed()]).evaluate([backward(3)], locate)
    assert finding.fix is None
