"""Which calls reach a tracker that names the callees it hears of, and in which order trackers hear."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.trackers.hearing import TrackerError
from gradcheck_tool.trackers.tracker import Tracker

CALLS = """
import torch
w = torch.nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([w], lr=0.1)
opt.zero_grad()
w.sum().backward()
opt.step()
given.step()
"""


def heard(*callees: str) -> list[str]:
    """The texts of the calls that a tracker hears of which names these callees, and those that another does."""
    texts: list[str] = []

    class Named(Tracker):
        def on_called(self, m, s, fact):
            texts.append("named " + self.text(m.site(s, fact.instr.node)))

    class Every(Tracker):
        def on_called(self, m, s, fact):
            texts.append(self.text(m.site(s, fact.instr.node)))

    Named.callees = frozenset(callees)
    analyze(lower_module(CALLS, "p.py"), trackers=[Named, Every])
    return texts


def test_a_tracker_hears_of_the_callees_that_it_names_and_others_of_all() -> None:
    every = [text for text in heard("step", "zero_grad") if not text.startswith("named")]
    assert every == heard()[1::2]
    assert heard("step", "zero_grad")[3:] == [
        "named opt.zero_grad()",
        "opt.zero_grad()",
        "w.sum()",
        "w.sum().backward()",
        "named opt.step()",
        "opt.step()",
        "named given.step()",
        "given.step()",
    ]


def test_what_fails_in_a_tracker_of_calls_is_put_down_to_it() -> None:
    class Fails(Tracker):
        callees = frozenset({"zero_grad"})

        def on_called(self, m, s, fact):
            raise KeyError("x")

    with pytest.raises(TrackerError, match=r"tracker Fails: on_called failed: KeyError: 'x'"):
        analyze(lower_module(CALLS, "p.py"), trackers=[Fails])
