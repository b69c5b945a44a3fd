"""Modules of the repository: their bodies are executed once a process, in a state of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Frame, Instance, Record
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, LibraryObject, Ref, Symbol, Value
from gradcheck_tool.interp.api import Env, Interpreter
from gradcheck_tool.interp.budget import bounded, rows

if TYPE_CHECKING:
    from gradcheck_tool.ir import nodes as ir

IMPORT_LIMIT = 10_000
KEEP = 256


def import_module(m: Interpreter, s: State, dotted: str, level: int) -> Value | None:
    """A module of the repository as an object; None if it is not of the repository.

    Its body is executed once a process, in a state of its own; importing adds what that left to `s`.
    """
    if m.imports is None or (not dotted and not level):
        return None
    key = Symbol(("module", level, dotted))
    if key in s.memory:
        return s.memory[key]
    if m.total_left <= 0:
        return None
    module = m.imports(dotted, level)
    if module is None or id(module) in m.importing:
        return None
    made = _EXECUTED.get(id(module))
    if made is None or made.module is not module:
        made = _execute(m, module, dotted)
        while len(_EXECUTED) >= KEEP:
            del _EXECUTED[next(iter(_EXECUTED))]
        _EXECUTED[id(module)] = made
    if isinstance(s.heap, ReadTrackingHeap):
        s.heap.watch.spoiled = True
    s.heap = {**made.heap, **s.heap}
    s.memory[key] = made.value
    return made.value


@dataclass(frozen=True, slots=True)
class Executed:
    """What running a module body left: its records and the object that stands for the module."""

    module: ir.ModuleIR
    heap: dict[int, Record]
    value: Ref


_EXECUTED: dict[int, Executed] = {}


def _execute(m: Interpreter, module: ir.ModuleIR, dotted: str) -> Executed:
    """Run the body of an imported module, within a work limit of its own.

    Others will import what this leaves: it does not depend on how much work is left to who came first.
    """
    s = State()
    frame = Frame(module.body, None, None)
    ref = s.new(frame)
    frame.env = Env(module, ref, dotted)
    frame.locals["__name__"] = Const(dotted)
    value = s.new(Instance(LibraryObject("#module"), {"#frame": ref}, open=True))
    s.frames.append(ref)
    left, limit, total = m.steps_left, m.limit, m.total_left
    m.limit = IMPORT_LIMIT
    m.total_left = given = max(total, IMPORT_LIMIT)
    m.importing.add(id(module))
    ends = bounded(m, lambda: m.run_frame(s, module.body.entry), s, module.body)
    m.importing.discard(id(module))
    m.steps_left, m.limit = left, limit
    # Lowering it takes about as long as executing as many instructions as it has rows.
    m.total_left += total - given - rows(module)
    end = next((e.state for e in ends if e.kind == "return"), s)
    return Executed(module, end.heap, value)
