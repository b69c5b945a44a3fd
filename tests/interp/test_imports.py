"""What an imported module leaves does not depend on who imports it first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.analysis.entries import ExecutionPlan, analyze
from gradcheck_tool.domain.events import EngineError
from gradcheck_tool.ir.lower import lower_module

if TYPE_CHECKING:
    from gradcheck_tool.ir.nodes import ModuleIR

SHARED = "import torch\n" + "a = [1]\n" * 200 + "w = torch.ones(2, requires_grad=True)\n"


def errors(imported: ModuleIR, total: int) -> int:
    """The errors of a program that imports a leaf from the module, with so much work allowed."""
    program = lower_module("from shared import w\nw.add_(1)\n", "program.py")
    events = analyze(
        program, lambda dotted, level: imported if dotted == "shared" else None, ExecutionPlan(total=total)
    )
    return sum(isinstance(event, EngineError) for event in events)


def test_a_module_is_executed_to_its_end_for_whoever_has_little_work_left() -> None:
    imported = lower_module(SHARED, "shared.py")
    errors(imported, total=100)
    assert errors(imported, total=100_000) == 1
