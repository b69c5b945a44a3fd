"""Functions that train on one batch and apply gradients with every k-th."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

UNIT = """
def update(model, opt, batch, i, k):
    opt.zero_grad()
    loss = model(batch).sum() / k
    loss.backward()
    if i % k == 0:
        opt.step()
"""

RIGHT = {
    "cleared after the step": UNIT.replace("    opt.zero_grad()\n", "") + "        opt.zero_grad()\n",
    "a step with each batch": UNIT.replace("    if i % k == 0:\n        opt.step()", "    opt.step()"),
    "cleared after a step, at the begin of the next window": UNIT.replace(
        "    opt.zero_grad()", "    if i % k == 1:\n        opt.zero_grad()"
    ),
    "cleared before the first batch, and after each step": UNIT.replace(
        "    opt.zero_grad()", "    if i == 0:\n        opt.zero_grad()"
    )
    + "        opt.zero_grad()\n",
    "nothing is computed for other batches": """
def update(model, opt, batch, i, k):
    if i % k == 0:
        opt.zero_grad()
        model(batch).sum().backward()
        opt.step()
""",
    "a counter that only prints": """
def update(model, opt, batch, i, k):
    opt.zero_grad()
    loss = model(batch).sum()
    loss.backward()
    opt.step()
    if i % k == 0:
        print(loss.item())
""",
}


def _found(source: str) -> list[tuple[str, int]]:
    found = check_source(source, "program.py", RULES)
    return [(finding.code, finding.location.start.row) for finding in found]


@pytest.mark.parametrize(
    "step", ["opt.step()", "scaler.step(opt)"], ids=["the optimizer's step", "a scaler's step"]
)
def test_only_the_step_waits(step: str) -> None:
    assert _found(UNIT.replace("opt.step()", step)) == [("GL405", 3)]


def test_the_last_batch_may_end_a_window_as_well() -> None:
    last = UNIT.replace("batch, i, k)", "batch, i, k, n)").replace("i % k == 0", "i % k == 0 or i + 1 == n")
    found = check_source(last, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL405", 3)]
    assert "steps only when `i % k == 0 or i + 1 == n`" in found[0].message
    assert _found(last.replace("i + 1 == n", "n")) == []


@pytest.mark.parametrize("name", RIGHT)
def test_windows_that_are_applied_whole_are_quiet(name: str) -> None:
    assert _found(RIGHT[name]) == []
