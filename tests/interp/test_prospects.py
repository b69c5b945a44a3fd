"""Where few ways are followed, those that can still train are."""

from __future__ import annotations

import pytest

from gradcheck_tool import FreedGraph
from gradcheck_tool.analysis.plans import ExecutionPlan
from tests.running import Analysis

START = """
import os
import torch
from torch import nn
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
options = os.environ
"""
# The graph that the first iteration frees is used again where training goes on.
PROGRAMS = {
    "a flag ends a loop": """
def train(best):
    kept = model(torch.randn(3, 4)).exp().sum()
    stop = False
    for batch in os.listdir("/"):
        kept.backward()
        optimizer.step()
        if len(batch) < best:
            stop = True
        if stop:
            break
train(int(options["BEST"]))
""",
    "an attribute ends a loop": """
class Trainer:
    def __init__(self):
        self.is_over = False
    def train(self, best):
        kept = model(torch.randn(3, 4)).exp().sum()
        for batch in os.listdir("/"):
            kept.backward()
            optimizer.step()
            if len(batch) < best:
                self.is_over = True
            if self.is_over:
                break
Trainer().train(int(options["BEST"]))
""",
    "an option asks for no training": """
def main(skips, loss):
    if skips:
        print("not training")
    if skips:
        return
    loss.backward()
    loss.backward()
main(options.get("SKIPS"), model(torch.randn(3, 4)).exp().sum())
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_along_a_single_way_what_can_still_train_is_followed(program: str) -> None:
    analysis = Analysis(START + PROGRAMS[program], ExecutionPlan(limit=10))
    assert not analysis.unfinished
    assert analysis.of(FreedGraph)


def test_a_condition_that_is_bound_anew_on_the_way_tells_nothing() -> None:
    source = """
def main(skip, loss):
    quits = False
    if not skip:
        quits = True
    skip = options.get("LATER")
    if quits or skip:
        return
    loss.backward()
    loss.backward()
main(options.get("SKIP"), model(torch.randn(3, 4)).exp().sum())
"""
    assert Analysis(START + source, ExecutionPlan(limit=10)).of(FreedGraph)
