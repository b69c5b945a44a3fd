"""`GradScaler`."""

from __future__ import annotations

from tests.cases import check_right, each

# Right programs.
RIGHT = {
    "a scaler that another method of its object has used": """
import torch
class Scaled:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self._scaler = torch.amp.GradScaler()
    @property
    def scaler(self):
        return self._scaler
    def backward(self, loss):
        self.scaler.scale(loss).backward()
    def step(self):
        self.optimizer.zero_grad()
        self.scaler.step(self.optimizer)
        self.scaler.update()
""",
    "a scaler of the module that another function has used": """
import torch
scaler = torch.amp.GradScaler()
def backward(loss):
    scaler.scale(loss).backward()
def step(optimizer):
    optimizer.zero_grad()
    scaler.step(optimizer)
    scaler.update()
""",
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)
