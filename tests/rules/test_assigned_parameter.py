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
    assert [code for _, code in findings(source)] == ["GL331"]
    assert [code for _, code in findings(source.replace("self.scale", "self.weight"))] == ["GL331"]


def test_a_class_may_decide_what_an_assignment_does() -> None:
    update = "self.scale = self.scale * 2\n\n    def __setattr__(self, name, value):\n        pass"
    source = CLASS.format(base="Module", arguments="", update=update)
    assert findings(source) == []


LAYERS = {
    "a tensor": ("layer.weight = torch.eye(3)", True),
    "the weight of another layer": ("layer.weight = nn.Linear(3, 3).weight", False),
    "a Parameter": ("layer.weight = nn.Parameter(torch.eye(3))", False),
    "no bias": ("layer.bias = None", False),
    "data": ("layer.weight.data = torch.eye(3)", False),
    "a weight that is computed": (
        "nn.utils.weight_norm(layer)\n    layer.weight = torch.eye(3)",
        False,
    ),
    "a parametrization": (
        "nn.utils.parametrizations.orthogonal(layer)\n    layer.weight = torch.eye(3)",
        False,
    ),
    "a function that is called alike": (
        "nn.utils.get_total_norm([layer.weight])\n    layer.weight = torch.eye(3)",
        True,
    ),
    "what a class of the file calls so": ("layer = Scale()\n    layer.weight = torch.eye(3)", False),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("update", "raises"), LAYERS.values(), ids=LAYERS)
def test_the_parameters_of_layers(update: str, raises: bool) -> None:
    source = f"""
import torch
from torch import nn

class Scale:
    weight = 1.0

def made():
    layer = nn.Linear(3, 3)
    {update}
    return layer
"""
    found = [code for _, code in findings(source) if not code.startswith("GL9")]
    assert found == ["GL331"] * raises
    run: dict[str, object] = {}
    exec(source, run)
    if raises:
        with pytest.raises(TypeError, match="cannot assign"):
            run["made"]()  # type: ignore[operator]
    else:
        run["made"]()  # type: ignore[operator]


def test_what_is_computed_of_no_object_is_passed_over() -> None:
    """A function that is called like one which replaces a weight is given an iterator."""
    source = """
import torch
def clipped(layer, total_norm):
    layer.weight = torch.eye(3)
    return total_norm(iter(layer.parameters())), torch.nn.utils.clip_grad_norm(layer.parameters(), 1.0)
"""
    assert [code for _, code in findings(source) if not code.startswith("GL9")] == []


@pytest.mark.parametrize("name", ["m.__class__.__name__", "type(m).__name__", "type(m).__qualname__"])
def test_a_layer_of_the_library_is_told_from_others_by_the_name_of_its_class(name: str) -> None:
    """Weights that a network computes go to the modules of one class, which a loop finds by name."""
    source = f"""
import torch
from torch import nn

class Norm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.features = features
        self.weight = None
    def forward(self, x):
        return x * self.weight

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.norm = Norm(3)
        self.style = nn.Linear(3, 3)
    def forward(self, x, style):
        assign(self.style(style), self)
        return self.norm(self.first(x))

def assign(values, model):
    for m in model.modules():
        if {name} == "Norm":
            m.weight = values[:, : m.features]

net = Net()
net(torch.ones(2, 3), torch.ones(2, 3)).sum().backward()
"""
    exec(source, {})
    assert findings(source) == []
    assert [code for _, code in findings(source.replace('== "Norm"', '== "Linear"'))] == ["GL331"]
