"""What of a module is executed on its own, and how much work each of it may be."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import is_module_class
from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.interp import attributes
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.triage.mentions import names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.analysis.plans import ExecutionPlan
    from gradcheck_tool.domain.records import Instance
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import FrameExit, Interpreter

# Callers are executed before what they call, down to this many of them.
MOST_DEPTH = 2
# Where work is bounded so, what an entry point may take at least.
SHARE = 500
_WITHOUT_GRADIENTS = re.compile(r"\b(?:no_grad|inference_mode|set_grad_enabled)\b")


def definitions(bases: list[State], module: ir.ModuleIR) -> Iterator[tuple[State, Ref, Func | Class]]:
    """The functions and classes of a module, each in the first of the ends of its body that has it.

    A test of what is not known (`if HAS_EXTENSION:`) makes one end for each of its outcomes.
    """
    seen: set[tuple[str, int]] = set()
    for base in bases:
        for name, value in list(base[base.frames[0]].locals.items()):
            record = base.heap.get(value.id) if isinstance(name, str) and isinstance(value, Ref) else None
            if not isinstance(record, Func | Class) or record.env.module is not module:
                continue
            code = record.node if isinstance(record, Class) else record.function
            # Functions that one decorator wraps have the same code.
            if (name, id(code)) not in seen:
                seen.add((name, id(code)))
                yield base, value, record


def wrapped(wrapper: Instance) -> list[Value]:
    """The functions that a static method or a property stands for."""
    return [wrapper.attrs[key] for key in ("#func", "#set") if key in wrapper.attrs]


def takes_more(func: Func | None) -> bool:
    """Has a function parameters that take any number of arguments?"""
    any_number = (ir.ParamKind.VARARGS, ir.ParamKind.KWARGS)
    return func is not None and any(p.kind in any_number for p in func.function.params)


def forget_forwards(m: Interpreter, ends: list[FrameExit], module: ir.ModuleIR) -> None:
    """Have the `forward` of each module of a file executed again, as it is ordinarily used.

    A body that calls networks and differentiates nothing (`net = Net(); print(net(x).shape)`) tries them. A
    file that switches gradients off shows how its networks are used without.
    """
    if _WITHOUT_GRADIENTS.search(module.source):
        return
    for s, ref, record in definitions([end.state for end in ends], module):
        if isinstance(record, Class) and is_module_class(s, ref):
            own = record.attrs.get("forward")
            forward = None if own is None else s.get(attributes.innermost(s, own), Func)
            if forward is not None:
                m.program.entered.discard(id(forward.function))


class Starts:
    """Which functions to execute on their own, and how much work each may be."""

    def __init__(self, module: ir.ModuleIR, plan: ExecutionPlan) -> None:
        self._plan = plan
        hot = plan.mentions.functions(module) if plan.mentions else set()
        names = [(f, names_in(f)) for f in module.functions]
        # The callers of what is worth executing are, too: they show how it is used.
        self._hot = hot | _callers(names, plan.starts, hot)
        self._long = _callers(names, plan.long, set())
        # The body of a class calls nothing that its methods name.
        self._named = [(f, named) for f, named in names if f in self and f.kind is not ir.FunctionKind.CLASS]
        waiting, long = max(len(plan.starts), len(self._named)), max(len(plan.long), len(self._long))
        self._waiting = {True: long, False: waiting - long}
        # What is left for those that are not `long`, or for those that are.
        self._takes_long, self._others = False, plan.long_total

    @property
    def depths(self) -> range:
        """The depths of calls that there are."""
        return range(MOST_DEPTH + 1)

    def depth(self, function: ir.Function) -> int:
        """How many callers deep a function is; 0 where no other one names it, so that none shows its use."""
        return self._depths.get(id(function), 0)

    @cached_property
    def _depths(self) -> dict[int, int]:
        """The depth of each function below the nearest that nothing names, up to the most."""
        found: dict[int, int] = {}
        for depth in range(MOST_DEPTH):
            above = [entry for entry in self._named if not depth or found.get(id(entry[0])) == depth - 1]
            for f in [f for f, _ in self._named if id(f) not in found]:
                is_named = any(f.name in names for caller, names in above if caller is not f)
                if is_named is bool(depth):
                    found[id(f)] = depth
        return {id(f): found.get(id(f), MOST_DEPTH) for f, _ in self._named}

    def __contains__(self, function: ir.Function) -> bool:
        return function.qualname in self._plan.starts or id(function) in self._hot

    def _is_long(self, function: ir.Function) -> bool:
        return function.qualname in self._plan.long or id(function) in self._long

    def prepare(self, m: Interpreter, methods: Iterable[ir.Function]) -> None:
        """Set the limit of what makes an object for these methods."""
        if self._plan.mentions is None:
            most = self._choose(m, is_long=any(map(self._is_long, methods)))
            m.budget.limit = min(most, max(SHARE, m.budget.total // 3))

    def begin(self, m: Interpreter, function: ir.Function) -> None:
        """Set the limit of the next one: twice its share, as most take less."""
        if self._plan.mentions is None:
            is_long = self._is_long(function)
            most = self._choose(m, is_long=is_long)
            m.budget.limit = min(most, max(SHARE, 2 * m.budget.total // max(1, self._waiting[is_long])))
            self._waiting[is_long] -= 1

    def allow(self, m: Interpreter, share: int) -> None:
        """Set the limit of the next one to such a part of all that is left."""
        if self._plan.mentions is None:
            self._choose(m, is_long=False)
            m.budget.limit = max(SHARE, m.budget.total // share)

    def _choose(self, m: Interpreter, *, is_long: bool) -> int:
        """Let the next one take of what there is for its like; how much of that it may take.

        Where some get more, those are to be complete.
        """
        if is_long is not self._takes_long:
            self._takes_long = is_long
            self._others, m.budget.total = m.budget.total, self._others
        m.budget.is_minor = bool(self._plan.long) and not is_long
        return self._plan.long_limit if is_long else self._plan.limit


def _callers(names: list[tuple[ir.Function, set[str]]], wanted: frozenset[str], more: set[int]) -> set[int]:
    """The functions that call those that are wanted, or each other, given all with the names in them."""
    callers: set[int] = set()

    def is_wanted(function: ir.Function) -> bool:
        return function.qualname in wanted or id(function) in callers or id(function) in more

    grew = True
    while grew:
        called = {_called_by(f) for f, _ in names if is_wanted(f)} - {"forward"}
        found = {id(f) for f, mentioned in names if not is_wanted(f) and mentioned & called}
        callers |= found
        grew = bool(found)
    return callers


def _called_by(function: ir.Function) -> str:
    """The name under which callers use a function: that of the class for its special methods."""
    owner, _, name = function.qualname.rpartition(".")
    return owner.rpartition(".")[2] if owner and name.startswith("__") else name
