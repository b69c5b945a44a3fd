"""What other code writes to the data of parameters between two calls of a method."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

# What makes the numbers of a layer anew.
INITIALIZING = """
def init(layer):
    layer.weight{write}
    layer.bias{write}


class Trainer:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        init(self.net)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def update(self, batch):
        loss = self.net(batch).pow(2).mean()
        loss.backward()
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("write", "expected", "cleared"),
    [(".data.normal_(0, 0.02)", ["GL401"], []), (".requires_grad_(False)", ["GL501"], ["GL501"])],
)
def test_what_others_write_to_data_leaves_a_parameter_what_it_is(
    write: str, expected: list[str], cleared: list[str]
) -> None:
    program = HEAD + INITIALIZING.format(write=write)
    assert [finding.code for finding in told(program)] == expected
    program = program.replace(
        "        loss.backward", "        self.optimizer.zero_grad()\n        loss.backward"
    )
    assert [finding.code for finding in told(program)] == cleared


def test_pytorch_refuses_a_loss_of_what_is_frozen() -> None:
    pytest.importorskip("torch")
    program = HEAD + INITIALIZING.format(write=".requires_grad_(False)")
    assert "does not require grad" in happened(f"{program}Trainer().update(torch.ones(1, 3))\n")[1]
