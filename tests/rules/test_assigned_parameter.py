"""Attributes that hold Parameters and are assigned something else: where PyTorch raises, and nowhere else."""

from __future__ import annotations

import pytest

from tests.running import findings

CLASS = """
import torch
from torch import nn

class Net(nn.{base}):
    def __init__(self):
        super().__init__({arguments})
        self.scale = nn.Parameter(torch.ones(3))

    def update(self, x):
        {update}

    def forward(self, x):
        return x * self.scale
"""
# What a method does that nothing calls in the file, and whether it raises.
UPDATES = {
    "a result": ("self.scale = self.scale * 2", True),
    "data": ("self.scale = x.detach() + self.scale.data", True),
    "a Parameter": ("self.scale = nn.Parameter(self.scale * 2)", False),
    "None": ("self.scale = None", False),
    "in place": ("with torch.no_grad():\n            self.scale *= 2", False),
    "new values": ("self.scale.data = self.scale.data * 2", False),
    "another name": ("self.result = self.scale * 2", False),
    "what was deleted": ("old = self.scale\n        del self.scale\n        self.scale = old * 2", False),
    "what was taken out": ("old = self._parameters.pop('scale')\n        self.scale = old * 2", False),
    "what may be the same": ("self.scale = nn.Parameter(self.scale * 2).to(self.scale.device)", False),
    "what cannot be known": ("self.scale = x", False),
}


@pytest.mark.parametrize(("update", "raises"), UPDATES.values(), ids=UPDATES)
def test_an_assignment_is_found_where_it_raises(update: str, raises: bool) -> None:
    source = CLASS.format(base="Module", arguments="", update=update)
    assert [code for _, code in findings(source)] == ["GL331"] * raises
    run: dict[str, object] = {}
    exec(source + "\nnet = Net()\n", run)
    argument = run["torch"].nn.Parameter(run["torch"].ones(3))  # type: ignore[attr-defined]
    if raises:
        with pytest.raises(TypeError, match="cannot assign"):
            run["net"].update(argument)  # type: ignore[attr-defined]
    else:
        run["net"].update(argument)  # type: ignore[attr-defined]


def test_the_parameter_of_a_layer_that_a_class_derives_from() -> None:
    source = CLASS.format(base="Linear", arguments="3, 3", update="self.weight = self.weight.abs()")
    assert findings(source) == []
    assert [code for _, code in findings(source.replace("self.scale", "self.weight"))] == ["GL331"]


def test_a_class_may_decide_what_an_assignment_does() -> None:
    update = "self.scale = self.scale * 2\n\n    def __setattr__(self, name, value):\n        pass"
    source = CLASS.format(base="Module", arguments="", update=update)
    assert findings(source) == []
