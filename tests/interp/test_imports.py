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


# As packages with optional dependencies do it.
FILES = {
    "package": """
import importlib.util
found = importlib.util.find_spec("torch") is not None
def has_torch(): return found
class NotInstalled(Exception): pass
try:
    if not has_torch():
        raise NotInstalled()
except NotInstalled:
    from dummies import *
else:
    from schedules import Schedule
""",
    "dummies": """
def require(cls):
    raise ImportError(f"{cls.__name__} needs PyTorch")
class Schedule:
    @classmethod
    def load(cls, *args):
        require(cls)
""",
    "schedules": """
class Schedule:
    @classmethod
    def load(cls, *args):
        return cls()
""",
}


def test_a_stand_in_for_what_is_not_installed_is_not_what_a_program_gets() -> None:
    files = {name: lower_module(text, f"{name}.py") for name, text in FILES.items()}
    program = (
        "import torch\nfrom package import Schedule\nschedule = Schedule.load(1)\n"
        "w = torch.ones(2, requires_grad=True)\nw.add_(1)\n"
    )
    analysis = Analysis(program, None, lambda _, name, level: files.get(name))
    assert [analysis.row(event) for event in analysis.errors()] == [5]
