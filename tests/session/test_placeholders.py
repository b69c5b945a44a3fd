"""What a constructor leaves in an attribute, other methods and files may replace before it is differentiated."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck_tool.session.session import Options, Session

TRAINER = """import torch


class Trainer:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.loss = torch.zeros(1)

    def backward(self):
        self.loss.backward()
        self.optimizer.step()
"""
METHODS = {
    "none": ("", True),
    "one that reads it": ("    def text(self):\n        return str(self.loss == 0, loss=self.loss)\n", True),
    "one that assigns it": ("    def forward(self, net, x):\n        self.loss = net(x)\n", False),
    "one that adds to it": ("    def forward(self, net, x):\n        self.loss += net(x)\n", False),
    "one that assigns several": (
        "    def forward(self, net, x):\n        self.loss, self.x = net(x)\n",
        False,
    ),
    "one that iterates": (
        "    def forward(self, xs):\n        for self.loss in xs:\n            pass\n",
        False,
    ),
    "one of a class below": (
        "\nclass Other(Trainer):\n    def forward(self, x):\n        self.loss = x\n",
        False,
    ),
    "a function": ("\ndef forward(trainer, x):\n    setattr(trainer, 'loss', x.mean())\n", False),
}
FILES = {
    "nothing": ("", True),
    "another class of the same name": (TRAINER, True),
    "other objects": ("class Other:\n    def run(self):\n        self.loss = 1\n", True),
    "a function": ("def run(trainer, x):\n    trainer.loss = x.mean()\n", False),
    "a class that derives from it": (
        "from trainer import Trainer\n\n\nclass Wide(Trainer):\n    def run(self, x):\n        self.loss = x\n",
        False,
    ),
}


def is_reported(folder: Path) -> bool:
    found = {finding.code for finding in Session(folder, Options()).check([Path("trainer.py")]).findings}
    assert found <= {"GL501"}
    return bool(found)


@pytest.mark.parametrize(("more", "expected"), METHODS.values(), ids=METHODS)
def test_other_functions_of_the_file(tmp_path: Path, more: str, expected: bool) -> None:
    (tmp_path / "trainer.py").write_text(f"{TRAINER}\n{more}", encoding="utf-8")
    assert is_reported(tmp_path) is expected


@pytest.mark.parametrize(("other", "expected"), FILES.values(), ids=FILES)
def test_other_files(tmp_path: Path, other: str, expected: bool) -> None:
    (tmp_path / "trainer.py").write_text(TRAINER, encoding="utf-8")
    (tmp_path / "other.py").write_text(other, encoding="utf-8")
    assert is_reported(tmp_path) is expected


SCALED = TRAINER.replace("self.loss.backward()", "loss = self.loss / 2\n        loss.backward()")


@pytest.mark.parametrize(
    ("trainer", "more", "expected"),
    [
        (SCALED, "", True),
        (SCALED, METHODS["one that assigns it"][0], False),
        (SCALED.replace("self.loss / 2", "torch.ones(1)"), METHODS["one that assigns it"][0], True),
    ],
    ids=["nothing assigns it", "computed from it", "not computed from it"],
)
def test_what_is_computed_from_it(tmp_path: Path, trainer: str, more: str, expected: bool) -> None:
    (tmp_path / "trainer.py").write_text(f"{trainer}\n{more}", encoding="utf-8")
    assert is_reported(tmp_path) is expected


def test_what_the_function_itself_assigns_is_known(tmp_path: Path) -> None:
    body = "        self.loss = torch.zeros(1)\n        self.loss.backward()\n"
    text = TRAINER.replace("        self.loss.backward()\n", body)
    (tmp_path / "trainer.py").write_text(text, encoding="utf-8")
    (tmp_path / "other.py").write_text("def run(trainer, x):\n    trainer.loss = x\n", encoding="utf-8")
    assert is_reported(tmp_path)
