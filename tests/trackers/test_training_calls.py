"""Steps of optimizers and clearings of gradients are reported with what the gradients are then."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.events import GradientsCleared, OptimizerStep
from tests.cases import TRAINING
from tests.running import events

LOSS = "net(torch.ones(1, 2)).sum()"


@pytest.mark.parametrize(
    ("before", "gradients"),
    [
        ("", {"none"}),
        (f"{LOSS}.backward()\n", {"fresh"}),
        (f"{LOSS}.backward()\nopt.zero_grad()\n", {"zeroed"}),
        (f"{LOSS}.backward()\nopt.step()\n", {"stale"}),
    ],
)
def test_a_step_says_what_it_applies(before: str, gradients: set[str]) -> None:
    assert events(f"{TRAINING}{before}opt.step()\n", OptimizerStep)[-1].gradients == gradients


def test_a_step_in_a_function_that_a_loop_calls_is_in_a_loop() -> None:
    source = f"{TRAINING}def step():\n    opt.step()\n\nfor _ in range(2):\n    step()\n"
    assert all(event.in_loop for event in events(source, OptimizerStep))


@pytest.mark.parametrize(
    ("clearing", "target"),
    [
        ("opt.zero_grad()", "opt"),
        ("net.zero_grad()", "net"),
        ("net.weight.grad = None", "weight"),
        ("net.weight.grad.zero_()", "weight"),
    ],
)
@pytest.mark.parametrize("is_applied", [False, True])
def test_a_clearing_says_whose_gradients_it_clears(clearing: str, target: str, is_applied: bool) -> None:
    step = "opt.step()\n" if is_applied else ""
    (event,) = events(f"{TRAINING}{LOSS}.backward()\n{step}{clearing}\n", GradientsCleared)
    assert (event.target, event.fresh) == (target, not is_applied)
