"""Methods that detach some of the states that a module keeps between calls."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES

READER = """
import torch
from torch import nn
from cells import Base

class Reader(Base):
    readers = []

    def __init__(self, core):
        super().__init__()
        self.core = core
        self.hidden, self.{other} = self.first()

    def forward(self, x):
        self.hidden, self.{other} = self.core(x, (self.hidden, self.{other}))
        return self.hidden

    @classmethod
    def detach_all(cls):
        for reader in cls.readers:
            reader.hidden.detach_(){more}
"""


def _rows(source: str) -> list[tuple[str, int]]:
    return [(f.code, f.location.start.row) for f in check_source(source, "program.py", RULES)]


@pytest.mark.parametrize(
    ("other", "more", "is_found"),
    [
        ("cell", "", True),
        ("cell", "\n            reader.cell.detach_()", False),
        ("cell", "\n            reader.cell = None", False),
        ("step", "", False),
        ("cell", "\n            reader.restart()\n\n    def restart(self):\n        self.cell = None", False),
    ],
)
def test_a_state_that_is_left_is_found(other: str, more: str, is_found: bool) -> None:
    assert _rows(READER.format(other=other, more=more)) == [("GL106", 21)] * is_found


def test_what_is_detached_where_it_is_computed_is_quiet() -> None:
    source = READER.format(other="cell", more="")
    assert _rows(source.replace("self.cell))", "self.cell.detach()))")) == []
    assert _rows(source.replace("(self.hidden, self.cell))", "self.hidden)")) == []
