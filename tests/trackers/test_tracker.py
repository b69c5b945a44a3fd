"""What trackers note, when they report, and which of them a run makes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from gradcheck_tool.analysis.entries import analyze, needed
from gradcheck_tool.domain.events import Event
from gradcheck_tool.domain.records import Frame, Instance
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import LibraryObject
from gradcheck_tool.interp import facts
from gradcheck_tool.interp.solver import Solver
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.trackers.distributed import Distributed
from gradcheck_tool.trackers.events import DistributedMisuse
from gradcheck_tool.trackers.hearing import TrackerError
from gradcheck_tool.trackers.notes import RunNote, StateNote, StoryNote
from gradcheck_tool.trackers.tracker import Tracker, listen

LOOP = """
import torch
w = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    w.sum().backward()
    opt.step()
"""


@dataclass(slots=True, eq=False, kw_only=True)
class StepSeen(Event):
    optimizer: str


class Steps(Tracker):
    derives = (StepSeen,)
    field = StateNote[int]()
    story = StoryNote[str, int]()
    places = RunNote[str, int]()

    def on_stepped(self, m, s, fact):
        if self.once(id(fact.site.node)):
            self.report(StepSeen(site=fact.site, optimizer=fact.name))


def solver() -> Solver:
    return Solver(lambda event: None, 100, 100, 100)


def two_states() -> tuple[State, State, object]:
    s = State()
    s.frames.append(s.new(Frame(lower_module("pass", "p.py").body, None, None)))
    ref = s.new(Instance(LibraryObject("x")))
    s[s.frames[0]].locals["x"] = ref
    s.changed = set()
    return s, s.fork(), ref


def test_a_tracker_reports_what_it_derives_from_facts() -> None:
    events = analyze(lower_module(LOOP, "p.py"), trackers=[Steps])
    assert [event.optimizer for event in events if isinstance(event, StepSeen)] == ["opt"]


def test_a_method_that_matches_no_fact_is_refused() -> None:
    with pytest.raises(TypeError, match="did you mean `on_stepped`"):
        type("Wrong", (Tracker,), {"on_steped": None})


def test_a_tracker_may_note_something_of_a_tensor() -> None:
    class Stepped(Tracker):
        derives = (StepSeen,)
        before = StateNote[bool]()

        def on_stepped(self, m, s, fact):
            for ref in fact.parameters:
                if self.before.get(s, ref) and self.once("again"):
                    self.report(StepSeen(site=fact.site, optimizer="again"))
                self.before.set(s, ref, True)

    events = analyze(lower_module(LOOP, "p.py"), trackers=[Stepped])
    assert [event.optimizer for event in events if isinstance(event, StepSeen)] == ["again"]


def test_a_tracker_that_fails_is_named() -> None:
    class Fails(Tracker):
        def on_stepped(self, m, s, fact):
            raise KeyError("x")

    with pytest.raises(TrackerError, match=r"tracker Fails: on_stepped failed: KeyError: 'x'"):
        analyze(lower_module(LOOP, "p.py"), trackers=[Fails])


def test_once_counts_and_is_true_once() -> None:
    m = solver()
    tracker = Steps(m)
    assert [tracker.once("x"), tracker.once("x"), tracker.once("y")] == [True, False, True]
    assert m.noticed == 2


@pytest.mark.parametrize(
    ("undo", "reported"),
    [
        (lambda tracker: None, ["first"]),
        (lambda tracker: tracker.clear([2]), []),
        (lambda tracker: tracker.clear([4]), ["first"]),
        (lambda tracker: tracker.drop("key"), []),
        (lambda tracker: tracker.drop("other"), ["first"]),
    ],
)
def test_what_is_held_back_is_reported_unless_it_is_cleared_up(undo, reported) -> None:
    events: list[Event] = []
    m = Solver(events.append, 100, 100, 100)
    site = m_site()
    (tracker,) = listen(m, [Steps])
    tracker.hold("key", StepSeen(site=site, optimizer="first"), [1])
    tracker.hold("key", StepSeen(site=site, optimizer="second"), [2])
    undo(tracker)
    tracker.conclude()
    assert [event.optimizer for event in events] == reported


def m_site():
    from gradcheck_tool.domain.events import Site

    module = lower_module("pass", "p.py")
    return Site(module, module.tree)


def test_only_trackers_listen_that_have_the_method() -> None:
    m = solver()
    listen(m, [Steps])
    assert set(m.listeners) == {facts.Stepped}


def test_trackers_are_made_for_the_rules_in_force() -> None:
    rules = RuleSet.load()
    assert DistributedMisuse in Distributed.derives
    assert needed(rules.select(["GL811"])) == [Distributed]
    assert needed(rules.select(["GL101"])) == []
    assert [kind.__name__ for kind in needed(rules.select(["GL415"]))] == ["GradientMasks"]


def test_a_rule_that_sees_all_events_needs_all_trackers() -> None:
    from gradcheck_tool import Rule, Severity
    from gradcheck_tool.trackers.catalogue import BUILT_IN

    class Everything(Rule):
        code, name, severity = "TEAM001", "everything", Severity.INFO

        def on_file(self, events):
            yield from ()

    assert needed(RuleSet([Everything()])) == list(BUILT_IN)


def test_there_are_at_most_25_facts_and_the_documentation_lists_them() -> None:
    names = [kind.__name__ for kind in facts.Fact.__subclasses__() if kind.__module__ == facts.__name__]
    page = (Path(__file__).parents[2] / "docs" / "facts.md").read_text(encoding="utf-8")
    assert len(names) <= 25
    assert [name for name in names if f"| `{name}` |" not in page] == []
