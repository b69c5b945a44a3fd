"""That nothing clears gradients is said of open code where everybody who could is in sight."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, findings

CLASS = """
class Trainer:
    def __init__(self, model, optimizer, scheduler, loader):
        self.model = model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.loader = loader

    def clear(self):
        for p in self.model.parameters():
            p.grad = None

    def after_epoch(self):
        pass

    def train_epoch(self):
        for batch in self.loader:
            loss = self.model(batch).sum()
            loss.backward()
            self.optimizer.step()
            {after}
"""
FUNCTION = """
def train(model, opt, loader, k, callbacks):
    for i, x in enumerate(loader):
        loss = model(x).sum()
        loss.backward()
        {after}
"""


@pytest.mark.parametrize("after", ["pass", "self.scheduler.step()"])
def test_a_loop_that_steps_and_never_clears_is_reported(after: str) -> None:
    assert findings(CLASS.format(after=after)) == [(19, "GL401")]


def test_the_finding_tells_what_it_assumes() -> None:
    (finding,) = check_source(CLASS.format(after="pass"), "program.py", RULES)
    assert set(finding.assumes) == {
        "`model` has parameters that require a gradient",
        "`optimizer` holds the parameters of `model`",
    }


def test_an_optimizer_may_be_known_by_its_name_and_use_alone() -> None:
    assert findings(FUNCTION.format(after="opt.step()")) == [(5, "GL401")]


@pytest.mark.parametrize(
    "after", ["self.clear()", "self.after_step()", "self.after_epoch()", "self.model.zero_grad()"]
)
def test_a_method_may_clear(after: str) -> None:
    assert findings(CLASS.format(after=after)) == []


@pytest.mark.parametrize(
    "after",
    [
        "opt.step(); callbacks.after_step(model)",
        "opt.step(); model.zero_grad()",
        "opt.step(); opt.clear_gradients()",
        "k.step()",
        "pass",
    ],
)
def test_something_else_may_clear_or_nothing_is_applied(after: str) -> None:
    assert findings(FUNCTION.format(after=after)) == []
