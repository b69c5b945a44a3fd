"""GL404: a method steps before the backward of each call, and clears the gradients in between."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

AGENT = (
    HEAD
    + """
class Agent:
    def __init__(self, n):
        self.net = nn.Linear(3, n)
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def update(self, batch):
        loss = self.net(batch).pow(2).mean()
        {first}
        {second}
        {third}
        return loss.item()
"""
)
CLEAR, STEP, BACKWARD = "self.optimizer.zero_grad()", "self.optimizer.step()", "loss.backward()"


@pytest.mark.parametrize(
    ("order", "codes"),
    [
        ((CLEAR, STEP, BACKWARD), ["GL404"]),
        ((STEP, BACKWARD, CLEAR), ["GL404"]),
        ((CLEAR, BACKWARD, STEP), []),
        ((BACKWARD, STEP, CLEAR), []),
        # The gradients of one call are applied in the next.
        ((STEP, CLEAR, BACKWARD), []),
    ],
)
def test_nothing_is_applied_in_any_call(order: tuple[str, str, str], codes: list[str]) -> None:
    program = AGENT.format(first=order[0], second=order[1], third=order[2])
    assert [finding.code for finding in told(program)] == codes


def test_another_method_may_differentiate() -> None:
    program = AGENT.format(first=CLEAR, second=STEP, third="pass")
    other = "\n    def learn(self, batch):\n        self.net(batch).sum().backward()\n"
    assert "GL404" not in [finding.code for finding in told(program + other)]
