"""Parameters that nothing reads but their initialisation (GL325)."""

from __future__ import annotations

import pytest

from tests.running import RULES, check_source, findings

CELL = """
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.head = nn.Linear(2, 2)

    def forward(self, x):
        return {used}

    def {method}
"""
METHODS = {
    "a method that gives a value reads it": (
        "self.compute_init_state(x)",
        "compute_init_state(self, x): return x @ self.weight",
        [],
    ),
    "another module has it, too": (
        "self.head(x)",
        "init_weights(self): self.head.weight = self.weight",
        [],
    ),
    "an object that the constructor makes has it": (
        "self.head(x)",
        "reset_parameters(self): self.head = Cell(map_all(self.weight), 2)",
        [],
    ),
    "its initialisation takes it away": ("x + 1", "reset(self): self.weight = None", []),
    "its initialisation deletes it": ("x + 1", "reset(self): del self.weight", []),
    "its initialisation only": ("x + 1", "init_weights(self): nn.init.zeros_(self.weight)", ["GL325"]),
}


@pytest.mark.parametrize(("used", "method", "expected"), METHODS.values(), ids=METHODS)
def test_a_method_that_only_initialises_reads_no_parameter(
    used: str, method: str, expected: list[str]
) -> None:
    assert [code for _, code in findings(CELL.format(used=used, method=method))] == expected


@pytest.mark.parametrize(
    "kept",
    [
        "self.all = nn.ParameterList()\n        self.all.append(self.weight)",
        "self.all = [self.weight]",
        "self.all = {}\n        self.all[0] = self.weight",
        "rows = (self.weight,)\n        self.all = [row for row in rows]",
    ],
)
def test_what_is_kept_in_a_list_is_read_there(kept: str) -> None:
    source = CELL.format(used="x @ self.all[0]", method="reset(self): pass").replace(
        "        self.head", f"        {kept}\n        self.head"
    )
    assert findings(source) == []


def test_a_module_of_a_test_may_need_some_parameter() -> None:
    source = CELL.format(used="x + 1", method="extra_repr(self): pass")
    test = source + "\ndef test_cell(): assert Cell()(1) == 2\n"
    assert [finding.code for finding in check_source(source, "test_cell.py", RULES)] == ["GL325"]
    assert check_source(test, "test_cell.py", RULES) == []
