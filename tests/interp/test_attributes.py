"""Attributes: properties, cached properties, methods that are replaced."""

from __future__ import annotations

from tests.cases import check_agreement, check_right, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a property and a closure": """
import torch
class Holder:
    def __init__(self):
        self._w = torch.ones(2, requires_grad=True)
    @property
    def w(self):
        return self._w
holder = Holder()
def step():
    holder.w.mul_(0.5)  # raises
step()
""",
    "cached property graph": """
import torch
from functools import cached_property
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(3, 3))
    @cached_property
    def cov(self):
        return self.w @ self.w.T
m = M()
for _ in range(2):
    m.cov.sum().backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "a method replaced on one object": """
import types
import torch
class Causal(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 5)
    def forward(self, x):
        raise NotImplementedError
def patch(model, scale):
    def scaled(self, x):
        return {"logits": self.head(x) * scale}
    model.forward = types.MethodType(scaled, model)
model = Causal()
patch(model, 3)
(model(torch.ones(2, 4))["logits"] * torch.ones(2, 5)).sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)
