"""What of a module is executed on its own, and how much work each of it may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.triage.mentions import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.analysis.plans import ExecutionPlan
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.ir import nodes as ir

# Where work is bounded so, what an entry point may take at least.
SHARE = 500


def definitions(bases: list[State], module: ir.ModuleIR) -> Iterator[tuple[State, Ref, Func | Class]]:
    """The functions and classes of a module, each in the first of the ends of its body that has it.

    A test of what is not known (`if HAS_EXTENSION:`) makes one end for each of its outcomes.
    """
    seen: set[int] = set()
    for base in bases:
        for name, value in list(base[base.frames[0]].locals.items()):
            record = base.heap.get(value.id) if isinstance(name, str) and isinstance(value, Ref) else None
            if not isinstance(record, Func | Class) or record.env.module is not module:
                continue
            code = record.node if isinstance(record, Class) else record.function
            if id(code) not in seen:
                seen.add(id(code))
                yield base, value, record


class Starts:
    """Which functions to execute on their own, and how much work each may be."""

    def __init__(self, module: ir.ModuleIR, plan: ExecutionPlan) -> None:
        self._plan = plan
        self._hot = plan.mentions.functions(module) if plan.mentions else set()
        self._callers: list[tuple[ir.Function, set[str]]] = []
        self._add_callers(module)
        self._waiting = max(len(plan.starts), len(self._callers))

    def _add_callers(self, module: ir.ModuleIR) -> None:
        """Execute the callers of what is worth executing, too: they show how it is used."""
        waiting = [(f, names_in(f)) for f in module.functions]
        grew = True
        while grew:
            names = {_called_by(f) for f in module.functions if f in self} - {"forward"}
            more = [f for f, mentioned in waiting if f not in self and mentioned & names]
            self._hot |= {id(f) for f in more}
            grew = bool(more)
        self._callers = [(f, mentioned) for f, mentioned in waiting if f in self]

    def is_called(self, function: ir.Function) -> bool:
        """Does another one name the function, so that it is seen as its caller uses it?"""
        return any(function.name in names for f, names in self._callers if f is not function)

    def __contains__(self, function: ir.Function) -> bool:
        return function.qualname in self._plan.starts or id(function) in self._hot

    def prepare(self, m: Interpreter) -> None:
        """Set the limit of what makes an object for the next ones."""
        if self._plan.mentions is None:
            m.budget.limit = min(self._plan.limit, max(SHARE, m.budget.total // 3))

    def begin(self, m: Interpreter) -> None:
        """Set the limit of the next one: twice its share, as most take less."""
        if self._plan.mentions is None:
            m.budget.limit = min(self._plan.limit, max(SHARE, 2 * m.budget.total // max(1, self._waiting)))
            self._waiting -= 1

    def allow(self, m: Interpreter, share: int) -> None:
        """Set the limit of the next one to such a part of all that is left."""
        if self._plan.mentions is None:
            m.budget.limit = max(SHARE, m.budget.total // share)


def _called_by(function: ir.Function) -> str:
    """The name under which callers use a function: that of the class for its special methods."""
    owner, _, name = function.qualname.rpartition(".")
    return owner.rpartition(".")[2] if owner and name.startswith("__") else name
