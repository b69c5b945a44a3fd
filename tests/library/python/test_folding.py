"""`functools.reduce` and `itertools.accumulate`."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "states that are accumulated and summed one after another": """
from functools import reduce
from itertools import accumulate
import torch
w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for segment in range(2):
    states = list(accumulate([state, torch.ones(3)], lambda before, given: before * w + given))
    loss = reduce(lambda one, other: one + other, states).sum()
    loss.backward()  # raises
    state = states[-1]
""",
    "a tower of blocks that is folded": """
from functools import reduce
import torch
from torch import nn
tower = nn.ModuleList([nn.GELU(), nn.Softplus()])
features = nn.Linear(2, 2)(torch.ones(1, 2))
out = reduce(lambda h, block: h.add_(block(h)), tower, features)
out.sum().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
