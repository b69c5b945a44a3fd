"""Kinds of programs that tests quote, and what must hold for each kind.

- A program in which `# raises` marks the line where PyTorch raises, if any: `check_agreement`.
- A body that runs after `HEADER`: `check_raises`, `check_runs`, `check_wrong_gradients`, `check_right_gradients`.
- A `Mistake` that PyTorch runs without an error, and its correction: `check_mistake`, `check_correction`.
- A right program, in which no rule finds anything: `check_right`.
- A `Fact`: what is true after some statements, and known to be true: `check_known`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pytest

from gradcheck_tool.predictions import is_said
from tests.differential.judge import judge_source
from tests.running import Analysis, findings, happened, rows, variables

if TYPE_CHECKING:
    from collections.abc import Mapping

Program = TypeVar("Program")

# What the bodies of programs below may use.
HEADER = """import os
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint
flag = os.environ.get("FLAG") == "1"
w = torch.rand(3, requires_grad=True)
s = torch.rand((), requires_grad=True)
m = torch.rand(2, 3, requires_grad=True)
"""
HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""
# A network and its optimizer.
TRAINING = """
import torch
from torch import nn
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
MARK = re.compile(r"# <- ([\w ]+)")


class Mistake(NamedTuple):
    """A program that is silently wrong, and the replacement that makes it right.

    `# <- NAME ...` marks a line that is reported: NAME is the code of a rule or the class of an event. A program
    sets `symptom`, which is true where it is wrong.
    """

    wrong: str
    old: str
    new: str

    @property
    def right(self) -> str:
        assert self.old in self.wrong
        return self.wrong.replace(self.old, self.new)


class Fact(NamedTuple):
    """Statements, and a condition that is true after them."""

    statements: str
    condition: str


def each(programs: Mapping[str, Program]) -> pytest.MarkDecorator:
    """Run a test with each of the programs, as its argument `program`."""
    return pytest.mark.parametrize("program", programs.values(), ids=programs.keys())


def check_agreement(program: str) -> None:
    """The model and PyTorch report the same error in the same line, or neither reports one; the mark is true."""
    row, message = happened(program)
    predicted_row, text = predicted(program)
    assert predicted_row == row
    assert not text or is_said(text, message)
    assert ("# raises" in program) == (row is not None)


def predicted(program: str) -> tuple[int | None, str]:
    """The row and the text of the first error that the model predicts; None and "" without an error."""
    analysis = Analysis(program)
    errors = analysis.errors()
    return (analysis.row(errors[0]), errors[0].text) if errors else (None, "")


def check_raises(body: str) -> None:
    """The model predicts what PyTorch raises, and nothing else."""
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert not verdict.crashed
    assert verdict.raises
    assert not verdict.invalid
    assert not verdict.misses
    assert not verdict.false_alarms


def check_runs(body: str) -> None:
    """PyTorch raises nothing, and the model predicts nothing."""
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert not verdict.crashed
    assert not verdict.raises
    assert not verdict.predicted


def check_wrong_gradients(body: str) -> None:
    """A backward pass uses values that have changed past autograd, and the model reports each such place."""
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert not verdict.crashed
    assert verdict.silent
    assert not verdict.silent_misses
    assert not verdict.predicted


def check_right_gradients(body: str) -> None:
    """No backward pass uses values that have changed past autograd, and the model reports none."""
    verdict = judge_source(HEADER + body.lstrip("\n"))
    assert not verdict.crashed
    assert not verdict.silent
    assert not verdict.silent_alarms


def check_mistake(program: Mistake) -> None:
    """PyTorch shows the symptom, and what is reported is what the marks name."""
    assert variables(program.wrong)["symptom"]
    _check_reports(program.wrong, _marked(program.wrong))


def check_correction(program: Mistake) -> None:
    """Without the symptom, nothing is reported."""
    assert not variables(program.right)["symptom"]
    _check_reports(program.right, _marked(program.wrong, keep=False))


def check_known(program: Fact) -> None:
    """The model takes the branch that Python takes: a second backward raises exactly where it is reached."""
    for condition, row in ((program.condition, True), (f"not ({program.condition})", False)):
        start = f"import torch\nfrom torch import nn\nw = torch.ones(2, requires_grad=True)\n{program.statements}\n"
        source = f"{start}loss = w.exp().sum()\nloss.backward()\nif {condition}:\n    loss.backward()\n"
        expected = source.count("\n") if row else None
        assert happened(source)[0] == expected
        assert predicted(source)[0] == expected


def check_right(program: str) -> None:
    """No rule finds anything."""
    assert findings(program) == []


def _marked(program: str, *, keep: bool = True) -> dict[str, list[int]]:
    """The rows that are marked with each name; without `keep`, the names alone."""
    marked: dict[str, list[int]] = {}
    for row, line in enumerate(program.splitlines(), 1):
        found = MARK.search(line)
        for name in found[1].split() if found else ():
            marked.setdefault(name, []).extend([row] * keep)
    assert marked
    return marked


def _check_reports(program: str, marked: dict[str, list[int]]) -> None:
    """Findings are exactly those that are marked with codes; so are the events of each class that is marked."""
    codes = {name for name in marked if name.startswith("GL")}
    if codes:
        assert findings(program) == sorted((row, code) for code in codes for row in marked[code])
    for name in marked.keys() - codes:
        assert rows(program, name) == marked[name]
