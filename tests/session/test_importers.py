"""What a file leads to in others is found as well where that file alone is checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.session.importers import FEW, LENGTH, MOST
from gradcheck_tool.session.session import Options, Session

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "nets/__init__.py": "from nets.encoder import Encoder\n",
    "nets/encoder.py": """
from torch import nn

class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return self.second(self.first(x).sigmoid())
""",
    "masks.py": """
def masked(output, mask):
    return output.masked_fill_(mask, 0.0)
""",
    "train.py": """
import torch
from nets import Encoder
from masks import masked

def train(loader):
    model = Encoder(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, mask in loader:
        optimizer.zero_grad()
        masked(model(x).tanh(), mask).sum().backward()
        optimizer.step()
""",
    "other.py": """
import torch

weight = torch.ones(2, requires_grad=True)
weight += 1
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(folder: Path, *names: str, cache: bool = False) -> list[tuple[str, str]]:
    outcome = Session(folder, Options(cache=cache)).check([folder / name for name in names])
    return [(f.code, f.location.filename.removeprefix(f"{folder}/")) for f in outcome.findings]


@pytest.mark.parametrize("cache", [False, True])
def test_a_helper_is_judged_by_who_calls_it(folder: Path, cache: bool) -> None:
    whole = found(folder, ".")
    assert [code for code, _ in whole] == ["GL301", "GL201"]
    for _ in range(2):
        assert found(folder, "masks.py", cache=cache) == [whole[1]]


def test_a_package_that_hands_names_on_leads_to_who_imports_them(folder: Path) -> None:
    train = folder / "train.py"
    detached = FILES["train.py"].replace("model(x).tanh()", "model(x)").replace("masked(", "(")
    train.write_text(detached.replace(", mask).sum()", ").sum()"), encoding="utf-8")
    encoder = folder / "nets" / "encoder.py"
    encoder.write_text(
        FILES["nets/encoder.py"].replace(".sigmoid())", ".sigmoid()).detach()"), encoding="utf-8"
    )
    assert [code for code, _ in found(folder, "nets/encoder.py")] == ["GL501"]


def test_what_has_nothing_to_do_with_the_file_is_not_told(folder: Path) -> None:
    (folder / "train.py").write_text(FILES["train.py"] + FILES["other.py"], encoding="utf-8")
    assert [code for code, _ in found(folder, "masks.py")] == ["GL201"]
    assert [code for code, _ in found(folder, "train.py")] == ["GL201", "GL301"]


def test_files_that_cannot_be_read_are_not_those_that_are_checked(folder: Path) -> None:
    (folder / "broken.py").write_text("from masks import masked\n(", encoding="utf-8")
    outcome = Session(folder, Options(cache=False)).check([folder / "masks.py"])
    assert outcome.problems == []
    assert outcome.checked == 1


def test_there_are_bounds(folder: Path) -> None:
    for number in range(MOST + 2):
        (folder / f"use{number}.py").write_text("from masks import masked\n", encoding="utf-8")
    session = Session(folder, Options(cache=False))
    (train, *others) = session.checker.importers.of([folder / "masks.py"])
    assert train == folder / "train.py"
    assert len(others) == MOST - 1
    assert session.checker.importers.of([folder / f"use{n}.py" for n in range(FEW + 1)]) == []


def test_what_is_long_is_left_out_but_for_the_first(folder: Path) -> None:
    checker = Session(folder, Options(cache=False)).checker
    for name, length in (("a.py", LENGTH + 1), ("b.py", 100), ("c.py", LENGTH)):
        (folder / name).write_text("from masks import masked\n".ljust(length, "#"), encoding="utf-8")
    assert checker.importers.of([folder / "masks.py"]) == [folder / "train.py", folder / "b.py"]
    (folder / "train.py").write_text("", encoding="utf-8")
    for name in ("b.py", "c.py"):
        (folder / name).unlink()
    checker.modules.forget(folder / "train.py")
    assert checker.importers.of([folder / "masks.py"]) == [folder / "a.py"]
