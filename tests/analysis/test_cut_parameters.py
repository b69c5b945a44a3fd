"""Parameters of a module that its forward cuts off from what it returns, where no backward is in sight."""

from __future__ import annotations

import pytest

from gradcheck_tool.trackers.events import ParameterCutOff
from tests.open_programs import told
from tests.running import events

LAYER = """import torch
from torch import nn
import torch.nn.functional as F

class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter({made})

    def forward(self, x):
        {forward}
"""
MADE = "torch.ones(width)"


def cut_off(forward: str, made: str = MADE, rest: str = "") -> list[tuple[str, str]]:
    source = LAYER.format(forward=forward, made=made) + rest
    return [(e.parameter, e.cut.kind) for e in events(source, ParameterCutOff)]


@pytest.mark.parametrize(
    ("forward", "kind"),
    [
        ("return self.linear(x) * self.scale.data", "data"),
        ("return F.linear(x, self.scale.data) + self.linear(x)", "data"),
        ("return self.linear(x) * self.scale.exp().item()", "item"),
        ("return self.linear(x) * float(self.scale)", "item"),
        ("y = self.linear(x); return y * (y > self.scale).float()", "non-differentiable"),
        ("return F.linear(x, torch.round(self.scale).long().float()) + self.linear(x)", "non-differentiable"),
        ("return self.linear(x) * torch.tensor(self.scale)", "retensor"),
        ("return F.linear(x, self.scale.data)", "data"),
    ],
)
def test_a_parameter_that_is_used_as_a_constant(forward: str, kind: str) -> None:
    assert cut_off(forward) == [("self.scale", kind)]


@pytest.mark.parametrize(
    "forward",
    [
        "return self.linear(x) * self.scale",
        "return self.linear(x) * self.scale.data + self.scale",
        "return self.linear(x) * self.scale.data, self.scale.norm()",
        "self.penalty = self.scale.norm(); return self.linear(x) * self.scale.data",
        "self.scale.data.mul_(0.9); return self.linear(x) * self.scale.data",
        "return (x > self.scale).float()",
        "return self.linear(x).argmax(dim=1)",
        "if self.training:\n            return self.linear(x) * self.scale\n        return self.linear(x) * self.scale.data",
    ],
)
def test_what_is_trained_written_or_not_differentiated_is_not_cut_off(forward: str) -> None:
    assert cut_off(forward) == []


def test_a_frozen_parameter_is_meant_to_be_a_constant() -> None:
    assert cut_off("return self.linear(x) * self.scale.data", f"{MADE}, requires_grad=False") == []


@pytest.mark.parametrize(
    "rest",
    [
        "\n    def penalty(self):\n        return self.scale.norm()\n",
        "\n    def update(self, value):\n        self.scale.data.lerp_(value, 0.1)\n",
        "\ndef penalty(layer):\n    return layer.scale.norm()\n",
    ],
)
def test_other_uses_may_train_or_set_it(rest: str) -> None:
    assert cut_off("return self.linear(x) * self.scale.data", rest=rest) == []


LAYERS = """import torch
from torch import nn

class Codes(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.table = nn.Embedding(8, width)

    def forward(self, x):
        z = self.encoder(x)
        {codes}
"""


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("return self.table(z.argmax(dim=-1))", ["self.encoder"]),
        ("q = self.table(z.argmax(dim=-1)); return z + (q - z).detach()", []),
        ("q = self.table(z.argmax(dim=-1)); return z + q - z.detach()", []),
        ("q = self.table(z.argmax(dim=-1)); return q, z", []),
        ("return self.table.weight.sum() + z.detach()", []),
    ],
)
def test_layers_that_only_choose(codes: str, expected: list[str]) -> None:
    """What detaches a layer's result wants it to stay as it is; a choice of rows is no such wish."""
    found = events(LAYERS.format(codes=codes), ParameterCutOff)
    assert [event.parameter for event in found] == expected


def test_a_class_of_modules_may_derive_from_a_layer() -> None:
    source = LAYER.replace("nn.Module", "nn.Linear").replace(
        "super().__init__()", "super().__init__(width, width)"
    )
    forward = "return F.linear(x, self.weight * (self.scale > 0).float())"
    assert [e.parameter for e in events(source.format(forward=forward, made=MADE), ParameterCutOff)] == [
        "self.scale"
    ]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ("return self.table(z.long()) * torch.sign(z)", ["self.encoder"]),
        ("return self.table(z.long()) * torch.round(z.sigmoid())", ["self.encoder"]),
        ("return self.table(z.long()) * (z + (torch.sign(z) - z).detach())", []),
        ("return self.table(z.long()) * torch.sign(z) * z", []),
        ("return torch.sign(z)", []),  # a decision
        ("return self.table(z.long()) * (z if self.training else torch.sign(z))", []),
    ],
)
def test_layers_behind_what_lets_only_zeros_pass(codes: str, expected: list[str]) -> None:
    found = events(LAYERS.format(codes=codes), ParameterCutOff)
    assert [event.parameter for event in found if event.cut.kind == "zero-derivative"] == expected


EQUALISED = """import torch
from torch import nn
import torch.nn.functional as F


def equalise(module, inputs):
    module.scale = getattr(module, "scale" + "_orig") * 2


class Equalised(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale_orig = nn.Parameter(torch.ones(width))
        self.scale = self.scale_orig.data
        {hook}

    def forward(self, x):
        return x * self.scale
"""


@pytest.mark.parametrize(
    ("hook", "expected"),
    [("pass", ["self.scale_orig"]), ("self.register_forward_pre_hook(equalise)", [])],
)
def test_what_hooks_before_forward_set_is_not_cut_off(hook: str, expected: list[str]) -> None:
    found = events(EQUALISED.format(hook=hook), ParameterCutOff)
    assert [event.parameter for event in found] == expected


BINARY = """
import torch
from torch import nn

class Binary(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.second(torch.sign(self.first(x)))
"""


def test_a_derivative_that_is_zero_is_told_as_in_closed_programs() -> None:
    found = told(BINARY)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL505", 11)]
    trained = BINARY + "net = Binary()\nnet(torch.ones(1, 8)).sum().backward()\n"
    assert [(finding.code, finding.location.start.row) for finding in told(trained)] == [("GL505", 11)]
