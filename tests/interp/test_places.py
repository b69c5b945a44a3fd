"""What the text of a place says: the loops around it, and how an object is called there."""

from __future__ import annotations

import pytest

from gradcheck_tool import OptimizerStep
from tests.cases import TRAINING
from tests.running import events, findings


def test_an_optimizer_is_named_as_the_program_names_it() -> None:
    source = TRAINING + "class Box: pass\nbox = Box()\nbox.opt = opt\nbox.opt.step()\n"
    assert [(e.optimizer, e.in_loop) for e in events(source, OptimizerStep)] == [("box.opt", False)]


WAITS = """
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i, x in enumerate(torch.utils.data.DataLoader(torch.ones(8, 2))):
    optimizer.zero_grad()
    model(x).sum().backward()
    {assigned}
    if {test}:
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("assigned", "test", "codes"),
    [
        ("full = i % 4 == 3", "full", ["GL405"]),
        ("full: bool = i % 4 == 3", "full", ["GL405"]),
        ("(full,) = (i % 4 == 3,)", "full", ["GL405"]),
        ("full, number = i % 4 == 3, 0", "full", ["GL405"]),
        ("full = last = i % 4 == 3", "last", ["GL405"]),
        ("full = i % 4 == 3; now = full", "now", ["GL405"]),
        ("(full := i % 4 == 3)", "full", ["GL405"]),
        ("pass", "(full := i % 4 == 3)", ["GL405"]),
        ("full = last = i > 3", "full", []),
        ("full, number = divmod(i % 4, 2)", "full", []),
        ("full, *number = i > 3, i % 4, 1", "full", []),
        ("full = i % 4 == 3; full, number = i > 3, 0", "full", []),
    ],
)
def test_a_variable_waits_for_a_counter_however_it_is_assigned(
    assigned: str, test: str, codes: list[str]
) -> None:
    found = findings(WAITS.format(assigned=assigned, test=test))
    assert [code for _, code in found] == codes
