"""States of optimizers that hold the gradient itself."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

STEP = """
import torch
from torch.optim import Optimizer

class Momentum(Optimizer):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                d_p = p.grad
                if group["weight_decay"] != 0:
                    d_p = d_p.add(p, alpha=group["weight_decay"])
                state = self.state[p]
                if "buffer" not in state:
                    buf = state["buffer"] = {kept}
                else:
                    buf = state["buffer"]
                    {changed}
                p.add_(buf, alpha=-group["lr"])
"""


@pytest.mark.parametrize(
    ("kept", "changed", "is_found"),
    [
        ("d_p", "buf.mul_(0.9).add_(d_p)", True),
        ("p.grad.data", "state['buffer'].mul_(0.9)", True),
        ("d_p.detach()", "buf.lerp_(d_p, 0.1)", True),
        ("d_p.clone()", "buf.mul_(0.9).add_(d_p)", False),
        ("torch.clone(d_p).detach()", "buf.mul_(0.9).add_(d_p)", False),
        ("d_p", "buf = state['buffer'] = buf * 0.9 + d_p", False),
    ],
)
def test_a_gradient_that_is_kept_and_written_to(kept: str, changed: str, is_found: bool) -> None:
    found = check_source(STEP.format(kept=kept, changed=changed), "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL417", 17)] * is_found
