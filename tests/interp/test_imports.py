"""Imports: what a module defines does not depend on who imports it first."""

from __future__ import annotations

from gradcheck_tool.analysis.plans import ExecutionPlan
from gradcheck_tool.ir.lower import lower_module
from tests.running import Analysis

SHARED = "import torch\n" + "a = [1]\n" * 200 + "w = torch.ones(2, requires_grad=True)\n"


def test_an_imported_module_is_executed_to_its_end_whatever_work_the_importer_has_left() -> None:
    shared = lower_module(SHARED, "shared.py")
    program = "from shared import w\nw.add_(1)\n"

    def errors(total: int) -> int:
        plan = ExecutionPlan(total=total)
        return len(
            Analysis(program, plan, lambda _, name, level: shared if name == "shared" else None).errors()
        )

    errors(total=100)
    assert errors(total=100_000) == 1
