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


def check_open(case: Open, surroundings: str = "") -> None:
    """The mistake is found and says what it assumes, the right program is quiet, and PyTorch says the same.

    `surroundings` stand for modules that are elsewhere.
    """
    check_found(case)
    assert told(case.right) == []
    assert happened(f"{surroundings}{case.wrong}{case.driver}\n")[1]
    assert happened(f"{surroundings}{case.right}{case.driver}\n") == (None, "")


def check_found(case: Open) -> None:
    """The marked lines are reported, and nothing else; what is assumed is told."""
    rows = [
        (n, line.split("# <- ")[1]) for n, line in enumerate(case.wrong.splitlines(), 1) if "# <- " in line
    ]
    found = told(case.wrong)
    assert [(finding.location.start.row, finding.code) for finding in found] == rows
    assert set(case.assumes) <= set(found[0].assumes)


def check_quiet(program: str) -> None:
    """Nothing is reported, as those who are out of sight may have made it right."""
    assert told(HEAD + program) == []
