"""What one file keeps from call to call may be replaced, or emptied, by another file that has the object."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcheck_tool.session.session import Options, Session
from tests.running import happened

ENCODER = """import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 2)
        self.register_buffer("hidden", torch.zeros(1, 2))

    def forward(self, x):
        hidden = self.cell(x, self.hidden)
        self.hidden = hidden
        return hidden
"""
TRAINER = """
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.state = None
        self.losses = []

    def train_step(self, x):
        self.optimizer.zero_grad()
        out, self.state = self.model(x, self.state)
        loss = out.sum()
        self.losses.append(loss)
        loss.backward()
        self.optimizer.step()
"""
# What another file does, and what is told of the encoder and of the trainer then.
ELSEWHERE = {
    "nothing": ("", {"GL604"}, {"GL102", "GL602"}),
    "it reads them": (
        "def show(net, trainer):\n    if net.hidden == trainer.state:\n        print(len(trainer.losses))\n",
        {"GL604"},
        {"GL102", "GL602"},
    ),
    "it has attributes of these names itself": (
        "class Log:\n    def __init__(self):\n        self.hidden, self.state, self.losses = 1, 2, []\n",
        {"GL604"},
        {"GL102", "GL602"},
    ),
    "it detaches them": (
        (
            "def cut(net, trainer):\n    net.hidden = net.hidden.detach()\n"
            "    trainer.state = trainer.state.detach()\n    trainer.losses.clear()\n"
        ),
        set[str](),
        set[str](),
    ),
    "it sets them by name": (
        (
            "def cut(net, trainer):\n    setattr(net, 'hidden', net.hidden.detach())\n"
            "    setattr(trainer, 'state', None)\n"
        ),
        set[str](),
        {"GL602"},
    ),
}


@pytest.mark.parametrize(("text", "encoder", "trainer"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_is_kept_is_kept_where_no_file_sets_it(
    tmp_path: Path, text: str, encoder: set[str], trainer: set[str]
) -> None:
    files = {"pyproject.toml": "", "encoder.py": ENCODER, "trainer.py": TRAINER, "other.py": text}
    for name, source in files.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    for _ in range(2):
        outcome = Session(tmp_path, Options(cache=True)).check([Path()])
        found = {(Path(each.location.filename).stem, each.code) for each in outcome.findings}
        assert found == {("encoder", code) for code in encoder} | {("trainer", code) for code in trainer}


SCALE = """import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.init.ones_(torch.empty(2))

    def forward(self, x):
        return x * self.factor
"""


@pytest.mark.parametrize(("other", "codes"), [("test_scale.py", ["GL313"]), ("main.py", [])])
def test_what_tests_do_with_an_attribute_trains_nothing(tmp_path: Path, other: str, codes: list[str]) -> None:
    files = {"pyproject.toml": "", "scale.py": SCALE, other: "def show(scale):\n    print(scale.factor)\n"}
    for name, source in files.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    outcome = Session(tmp_path, Options()).check([Path("scale.py")])
    assert [finding.code for finding in outcome.findings] == codes


@pytest.mark.parametrize("cut", [False, True])
def test_pytorch_goes_back_through_what_nobody_cuts(cut: bool) -> None:
    pytest.importorskip("torch")
    steps = "net = Encoder()\nfor _ in range(2):\n    net(torch.ones(1, 2)).sum().backward()\n"
    raised = happened(ENCODER + steps + ("    net.hidden = net.hidden.detach()\n" if cut else ""))[1]
    assert ("a second time" in raised) is not cut


def test_a_state_that_a_method_begins_anew_is_for_callers_to_cut(tmp_path: Path) -> None:
    reset = "\n    def reset(self, size):\n        self.hidden = self.hidden.new_zeros(size, 2)\n"
    (tmp_path / "encoder.py").write_text(ENCODER + reset, encoding="utf-8")
    assert Session(tmp_path, Options()).check([Path()]).findings == []


WRAPPER = """import torch
from torch import nn


class End2End(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        boxes = self.model(x)
        confidence, scores = boxes[:, :, 4:5], boxes[:, :, 5:]
        scores *= confidence
        return scores
"""
EXPORT = """import torch
from wrapper import End2End

model = End2End(torch.load("model.pt")).eval()
torch.onnx.export(model, torch.zeros(1, 3, 8, 8), "model.onnx")
"""
TRAIN = """from wrapper import End2End


def train(net, loader, optimizer):
    model = End2End(net)
    for images in loader:
        optimizer.zero_grad()
        model(images).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("others", "reported"), [([], True), ([EXPORT], False), ([EXPORT, TRAIN], True), ([TRAIN], True)]
)
def test_what_is_made_to_be_exported_is_not_differentiated(
    tmp_path: Path, others: list[str], reported: bool
) -> None:
    files = {"pyproject.toml": "", "wrapper.py": WRAPPER, **{f"other{n}.py": t for n, t in enumerate(others)}}
    for name, source in files.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    found = {each.code for each in Session(tmp_path, Options()).check([Path()]).findings}
    assert found == ({"GL201"} if reported else set())


@pytest.mark.parametrize(
    ("documentation", "reported"),
    [("A detector for ONNX.", False), ("Exportable copy of a detector.", False), ("A detector.", True)],
)
def test_what_is_documented_as_made_for_export_is_not_differentiated(
    tmp_path: Path, documentation: str, reported: bool
) -> None:
    head = "class End2End(nn.Module):\n"
    source = WRAPPER.replace(head, f'{head}    """{documentation}"""\n\n')
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    (tmp_path / "wrapper.py").write_text(source, encoding="utf-8")
    found = {each.code for each in Session(tmp_path, Options()).check([Path()]).findings}
    assert found == ({"GL201"} if reported else set())


OVERWRITTEN = """import torch


def smooth_loss(x, y):
    scores = torch.softmax(x, -1)
    scores += 1e-6
    return -(y * scores.log()).sum()
"""


def test_what_a_notebook_defines_may_have_the_name_of_what_files_use(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "source": OVERWRITTEN,
        "execution_count": None,
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "tutorial.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    (tmp_path / "main.py").write_text(
        "def run(losses, x, y):\n    return losses.smooth_loss(x, y)\n", encoding="utf-8"
    )
    outcome = Session(tmp_path, Options()).check([Path()])
    assert [finding.code for finding in outcome.findings] == ["GL201"]


PROJECTIONS = """import torch


def project(d, e):
    norms = d.flatten(1).norm(dim=1, keepdim=True).clamp_(min=1e-12)
    return d * (e / norms)
"""
ATTACK = """import torch
from projections import project


def slopes(net, x):
    return torch.autograd.grad(net(x).sum(), x)[0]


def attack(net, x, norm):
    table = {2: (2, project)}
    d = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        d.data.add_(slopes(net, x + d))
        d.data.copy_(table[norm][1](d.data, 1.0))
    return d.detach()
"""
LAYER = """from torch import nn
from projections import project


class Ball(nn.Module):
    def forward(self, x):
        return project(x, 1.0)
"""


@pytest.mark.parametrize(
    ("files", "codes"),
    [
        ({}, ["GL201"]),
        ({"attack.py": ATTACK}, []),
        ({"layer.py": LAYER}, ["GL201"]),
        ({"attack.py": ATTACK, "layer.py": LAYER}, ["GL201"]),
    ],
    ids=["nobody", "who computes gradients", "a layer", "both"],
)
def test_an_operation_is_used_as_those_show_who_compute_gradients(
    tmp_path: Path, files: dict[str, str], codes: list[str]
) -> None:
    for name, source in {"projections.py": PROJECTIONS, **files}.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    outcome = Session(tmp_path, Options()).check([Path("projections.py")])
    assert [finding.code for finding in outcome.findings] == codes


BASE = """import torch
from torch import nn


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(3))

    def init_weights(self):
        self.scale.uniform_()

    def forward(self, x):
        return x * self.scale
"""
MADE = """import torch
from base import Base


class Net(Base):{own}
    def forward(self, x):
        return super().forward(x) + 1


def main():
    net = Net()
    net.init_weights()
    return net
"""
OWN = """
    @torch.no_grad()
    def init_weights(self):
        super().init_weights()
"""


@pytest.mark.parametrize(("own", "codes"), [(OWN, []), ("", ["GL301"])])
def test_objects_of_a_class_with_a_method_of_its_own_have_that(
    tmp_path: Path, own: str, codes: list[str]
) -> None:
    for name, source in {"base.py": BASE, "made.py": MADE.replace("{own}", own)}.items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    outcome = Session(tmp_path, Options()).check([Path("base.py")])
    assert [finding.code for finding in outcome.findings] == codes
