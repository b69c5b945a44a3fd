"""Attempts to freeze tensors and modules that have no effect."""

from __future__ import annotations

import pytest

from tests.cases import (
    HEAD,
    TRAINING,
    Mistake,
    check_correction,
    check_mistake,
    each,
)
from tests.open_programs import told
from tests.running import events, findings

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a parameter is compared with a flag": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
for p in net.parameters():
    p.requires_grad == False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "==",
        "=",
    ),
    "a misspelt flag": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
for p in net.parameters():
    p.require_grad = False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "require_grad",
        "requires_grad",
    ),
    "a flag of a module": Mistake(
        HEAD
        + """
net = nn.Linear(2, 1)
net.requires_grad = False  # <- GL316 FlagWrite
symptom = net.weight.requires_grad
""",
        "net.requires_grad = False",
        "net.requires_grad_(False)",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("store", "count"),
    [("net.weight.my_mark = 1", 1), ("net.weight.requires_grad = False", 0), ("net.weight.grad = None", 0)],
)
def test_an_attribute_that_tensors_do_not_have_is_reported(store: str, count: int) -> None:
    assert len(events(TRAINING + store + "\n", "FlagWrite")) == count


FROZEN = """
import torch
from torch import nn
from elsewhere import make

class Tuned(nn.Module):
    def __init__(self, backbone, width):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(width, 2)
        {lines}

    def forward(self, x):
        return self.head(self.backbone(x))
"""


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ("for layer in backbone.children(): layer.requires_grad = False", 1),
        ("for name, each in self.backbone.named_modules(): each.requires_grad = False", 1),
        ("for layer in list(make().children())[:3]: layer.requires_grad = False", 1),
        ("for layer in list(make().children()): layer.requires_grad = False", 1),
        ("self.backbone.requires_grad = False", 1),
        ("self.backbone.requires_grad_(False)", 0),
        ("for layer in backbone.children(): layer.weight.requires_grad = False", 0),
        ("for layer in backbone.children(): layer.frozen = True", 0),
        ("for p in backbone.parameters(): p.requires_grad = False", 0),
        ("for p in make(): p.requires_grad = False", 0),
    ],
)
def test_layers_of_modules_that_are_not_known_have_no_flag(lines: str, count: int) -> None:
    assert len(events(FROZEN.format(lines=lines), "FlagWrite")) == count


NODES = """
import torch
{head}

def freeze(root):
    for node in root.children():
        node.requires_grad = False
"""
NODE = """
class Node:
    def __init__(self, inputs):
        self.inputs = inputs
        self.{name} = True

    def children(self):
        return self.inputs
"""


@pytest.mark.parametrize(
    ("head", "count"),
    [
        (NODE.format(name="requires_grad"), 0),
        (NODE.format(name="name"), 0),
        ("from graph import Node", 0),
        ("from torch import nn", 1),
        ("import torchvision", 1),
    ],
)
def test_objects_with_children_of_another_kind_are_no_layers(head: str, count: int) -> None:
    assert len(events(NODES.format(head=head), "FlagWrite")) == count


OUT_OF_SIGHT = """
import clip
from torch import nn

class Wrapper(nn.Module):
    def __init__(self, visual):
        super().__init__()
        self.visual, self.scale = visual, visual.scale

    def forward(self, x):
        return self.visual(x) * self.scale

def build():
    backbone, preprocess = clip.load("ViT-B/32")
    model = Wrapper(backbone.visual)
    {}.requires_grad = False
    return model
"""


@pytest.mark.parametrize(
    ("frozen", "codes"),
    [
        ("backbone", ["GL316"]),  # by its name
        ("model.visual", ["GL316"]),  # a module calls it
        ("model.scale", []),
        ("preprocess", []),
    ],
)
def test_modules_that_are_made_out_of_sight(frozen: str, codes: list[str]) -> None:
    found = told(OUT_OF_SIGHT.format(frozen))
    assert [finding.code for finding in found] == codes
    assert all(finding.assumes == (f"`{frozen}` is a module",) for finding in found)


KEPT = """
from elsewhere import Language

class Prompted(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.language = Language(config)
        self.chosen = ""

    def train_prompt(self):
        if self.chosen != "prompt":
            self.{kept} = []
            for name, parameter in self.named_parameters():
                if "prompt" in name:
                    self.{kept}.append(parameter)
        self.chosen = "prompt"
        for each in self.kept:
            each.requires_grad = True
"""


@pytest.mark.parametrize(("kept", "count"), [("kept", 0), ("others", 1)])
def test_what_a_module_keeps_itself_is_no_layer(kept: str, count: int) -> None:
    assert [finding.code for finding in told(HEAD + KEPT.format(kept=kept))] == ["GL316"] * count


ASKED = """
import torch
from torch import nn
def freeze(module):
    if isinstance(module, {cls}):
        module.requires_grad = False
"""


@pytest.mark.parametrize(("cls", "count"), [("nn.Module", 1), ("nn.Parameter", 0), ("torch.Tensor", 0)])
def test_what_is_called_a_module_is_none_where_it_is_a_parameter(cls: str, count: int) -> None:
    assert len(findings(ASKED.format(cls=cls))) == count


def test_what_is_no_module_is_not_frozen_as_one() -> None:
    program = ASKED.format(cls="nn.Module") + "    else:\n        module.requires_grad = False\n"
    assert [line for line, _ in findings(program)] == [6]
