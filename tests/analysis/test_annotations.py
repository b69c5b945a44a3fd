"""What annotations name is what parameters are, as far as all that is done with them agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.session.session import Options, Session
from tests.running import findings

NETS = """
from torch import nn


class Net(nn.Module):
    def __init__(self, dim: int, use_critic: bool = True):
        super().__init__()
        self.encoder = nn.Linear(dim, dim)
        self.critic = None
        if not use_critic:
            return
        self.critic = nn.Linear(dim, 1)

    def forward(self, x, judge=False):
        y = self.encoder(x)
        if judge:
            return self.critic(y.detach()).mean() - self.critic(x).mean()
        return -self.critic(y).mean()


class Base(nn.Module):
    def forward(self, x):
        raise NotImplementedError
"""
TRAINER = """
from typing import Optional

import torch
from nets import Base, Net
import nets


class Trainer:
    def __init__(self, model: {annotation}, loader):
        self.model, self.loader = model, loader
        of_critic = set(model.critic.parameters())
        self.opt_critic = torch.optim.Adam(of_critic, lr=1e-3)
        self.opt = torch.optim.Adam(set(model.parameters()) - of_critic, lr=1e-3)

    def step(self):
        for x in self.loader:
            self.opt.zero_grad()
            self.model(x).backward()
            self.opt.step()
            {clear}
            self.model(x, judge=True).backward()
            self.opt_critic.step()
            self.opt_critic.zero_grad()
"""
ANNOTATIONS = ["Net", "nets.Net", '"Net"', "Optional[Net]", "Net | None", "Optional[nets.Net]"]


def told(folder: Path, text: str) -> list[str]:
    (folder / ".git").mkdir()
    for name, source in {"nets.py": NETS, "trainer.py": text}.items():
        (folder / name).write_text(source, encoding="utf-8")
    outcome = Session(folder, Options()).check([Path("trainer.py")])
    assert not outcome.problems
    return [finding.code for finding in outcome.findings]


@pytest.mark.parametrize("annotation", ANNOTATIONS)
def test_an_annotation_names_the_class_of_another_file(tmp_path: Path, annotation: str) -> None:
    text = TRAINER.format(annotation=annotation, clear="pass")
    assert told(tmp_path, text) == ["GL418"]


@pytest.mark.parametrize(
    ("annotation", "clear"),
    [("Net", "self.opt_critic.zero_grad()"), ("Base", "pass"), ("int", "pass"), ("Net | Base", "pass")],
)
def test_what_clears_in_time_or_names_no_such_class_is_quiet(
    tmp_path: Path, annotation: str, clear: str
) -> None:
    assert told(tmp_path, TRAINER.format(annotation=annotation, clear=clear)) == []


LOOP = """
import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader


def run(first: nn.Module, second: {optimizer}, third: DataLoader):
    for x in third:
        {clear}
        first(x).mean().backward()
        second.step()
"""


@pytest.mark.parametrize(
    ("optimizer", "clear", "expected"),
    [
        ("Optimizer", "pass", ["GL401"]),
        ("torch.optim.SGD", "pass", ["GL401"]),
        ("Optimizer", "second.zero_grad()", []),
        ("torch.optim.lr_scheduler.StepLR", "pass", []),
    ],
)
def test_annotations_of_libraries_tell_roles_whatever_the_names(
    optimizer: str, clear: str, expected: list[str]
) -> None:
    assert [code for _, code in findings(LOOP.format(optimizer=optimizer, clear=clear))] == expected
