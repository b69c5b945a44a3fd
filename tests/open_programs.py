"""Programs whose surroundings are somewhere else, and what must hold for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, happened

if TYPE_CHECKING:
    from gradcheck_tool import Finding

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""


class Open(NamedTuple):
    """A program whose surroundings are somewhere else.

    Attributes:
        wrong: the program; `# <- CODE` marks what is reported.
        old, new: a replacement that makes it right.
        driver: what makes the surroundings real: PyTorch raises with it, and not after the replacement.
        assumes: what the finding says that it takes from ordinary use.
    """

    wrong: str
    old: str
    new: str
    driver: str
    assumes: tuple[str, ...] = ()

    @property
    def right(self) -> str:
        assert self.old in self.wrong
        return self.wrong.replace(self.old, self.new)


def told(source: str, *, strict: bool = False) -> list[Finding]:
    """The findings of a program of one file."""
    return check_source(source, "program.py", RULES.select(strict=True) if strict else RULES)


def check_found(case: Open) -> None:
    """The marked lines are reported, and nothing else; what is assumed is told."""
    rows = [
        (n, line.split("# <- ")[1]) for n, line in enumerate(case.wrong.splitlines(), 1) if "# <- " in line
    ]
    found = told(case.wrong)
    assert [(finding.location.start.row, finding.code) for finding in found] == rows
    assert set(case.assumes) <= set(found[0].assumes)


def check_right(case: Open) -> None:
    """Nothing is reported once the mistake is mended."""
    assert told(case.right) == []


def check_pytorch(case: Open, surroundings: str = "") -> None:
    """PyTorch raises once the surroundings are there, and not after the mistake is mended."""
    assert happened(f"{surroundings}{case.wrong}{case.driver}\n")[1]
    assert happened(f"{surroundings}{case.right}{case.driver}\n") == (None, "")
