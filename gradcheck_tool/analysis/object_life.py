"""Which methods of an object run before and between others, where no caller is in sight.

A method that trains is called again and again, and finds what it has kept on `self`. Before it is called
for the first time, the methods have run that give the object what it reads. In between, others may have
changed what they write at all: of that, nothing is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.evidence import methods_of
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Instance, List
from gradcheck_tool.domain.values import GRAPH, NONE, Symbol, Tup, unknown
from gradcheck_tool.interp.facts import BackwardRan
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.grad_scaler import STAGE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref, Value
    from gradcheck_tool.interp.api import Interpreter

# Methods that make an object what it is: nobody calls them between two steps of training.
_CONSTRUCTS = re.compile(
    r"_*(?:init|build|set_?up|make|create|define|configure|prepare|post_init)", re.IGNORECASE
)
# How many methods are run so that an object has what another reads.
MOST_PROVIDERS = 3
# Methods of containers that change them.
_FILLS = frozenset({"append", "appendleft", "extend", "insert"})
_CHANGES = frozenset({"append", "clear", "extend", "insert", "pop", "popleft", "remove", "update"})


# Names of what clears gradients.
_CLEARS = re.compile(r"(?:zero|clear|reset)_*grad|^grad$", re.IGNORECASE)


@dataclass(slots=True)
class Touched:
    """The attributes that code reads, binds, and binds or changes, and those that it calls.

    `gives` are those that it binds to something, and not to None. `fills` are those that hold, or whose parts
    hold, containers that it adds to, `takes` those that it binds or changes otherwise, `data` those whose
    `.data` it reads. `clears` tells whether it names anything that clears gradients, `differentiates` whether
    it calls `backward`.
    """

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    gives: set[str] = field(default_factory=set)
    fills: set[str] = field(default_factory=set)
    takes: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    data: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    clears: bool = False
    differentiates: bool = False

    def read(self, function: ir.Function, *, own: bool) -> None:
        """Add what a function does with attributes of its first parameter (`own`), or of other objects."""
        other = function.worked_out(_own if own else _of_others)
        self.reads |= other.reads
        self.binds |= other.binds
        self.gives |= other.gives
        self.fills |= other.fills
        self.takes |= other.takes
        self.writes |= other.writes
        self.data |= other.data
        self.calls |= other.calls
        self.clears = self.clears or other.clears
        self.differentiates = self.differentiates or other.differentiates

    def follow(self, function: ir.Function, *, own: bool) -> Touched:
        """Read the code of a function, with what is inside of it where that is its `own` object."""
        # A function that no class has works on the objects of others only.
        is_free = not own and "." not in function.qualname
        first = function.params[0].name if function.params and not is_free else ""
        for code in function.with_inner() if own else (function,):
            instrs = [i for block in code.blocks.values() for i in block.instrs]
            receivers = {i.dst for i in instrs if isinstance(i, ir.LoadName) and i.name == first}
            self.clears = self.clears or any(map(_clears, instrs))
            self.differentiates = self.differentiates or any(map(_differentiates, instrs))
            nothing = {i.dst for i in instrs if isinstance(i, ir.Const) and i.value is None}
            held: dict[int, str] = {}
            for i in instrs:
                if isinstance(i, ir.GetAttr) and (i.obj in receivers) is own:
                    held[i.dst] = i.name
                    self.reads.add(i.name)
                elif isinstance(i, ir.SetAttr) and (i.obj in receivers) is own:
                    self.binds.add(i.name)
                    self.gives |= {i.name} if i.src not in nothing else set()
            self.writes |= self.binds
            self.takes |= self.binds
            for i in instrs:
                self._change(i, held)
            self._fill(instrs, held)
        return self

    def _fill(self, instrs: list[ir.Instr], held: dict[int, str]) -> None:
        """Does code add to what an attribute holds, or to a part of that?"""
        parts = dict(held)
        for i in instrs:
            if isinstance(i, ir.GetAttr) and i.obj in parts:
                parts.setdefault(i.dst, parts[i.obj])
                if i.name in _FILLS:
                    self.fills.add(parts[i.obj])

    def _change(self, i: ir.Instr, held: dict[int, str]) -> None:
        """Does an instruction call what an attribute holds, or change it where it is?"""
        if isinstance(i, ir.Call) and i.func in held:
            self.calls.add(held[i.func])
        elif isinstance(i, ir.GetAttr) and i.obj in held:
            if i.name == "data":
                self.data.add(held[i.obj])
            elif i.name in _CHANGES or re.fullmatch(r"[a-z]\w*_", i.name):
                self.writes.add(held[i.obj])
                self.takes |= {held[i.obj]} if i.name not in _FILLS else set()
        elif isinstance(i, (ir.SetItem, ir.DelItem)) and i.obj in held:
            self.writes.add(held[i.obj])
            self.takes.add(held[i.obj])


def _own(function: ir.Function) -> Touched:
    return Touched().follow(function, own=True)


def _of_others(function: ir.Function) -> Touched:
    return Touched().follow(function, own=False)


def _clears(i: ir.Instr) -> bool:
    """Does an instruction name what clears gradients, or bind a gradient?"""
    if isinstance(i, (ir.GetAttr, ir.LoadName)):
        return i.name != "grad" and _CLEARS.search(i.name) is not None
    return isinstance(i, ir.SetAttr) and i.name == "grad"


def _differentiates(i: ir.Instr) -> bool:
    return isinstance(i, ir.GetAttr) and i.name == "backward"


class ObjectLife:
    """The methods of a class and what each does to the object."""

    def __init__(self, s: State, cls: Ref) -> None:
        self._methods: dict[str, Touched] = {}
        own = methods_of(s, cls)
        for function in own:
            self._methods.setdefault(function.name, Touched()).read(function, own=True)
        self._elsewhere = Touched()
        self._others = Touched()
        bases = (s.get(entry, Class) for entry in s[cls].mro)
        modules = dict.fromkeys(base.env.module for base in bases if base is not None)
        for function in (function for module in modules for function in module.functions):
            self._elsewhere.read(function, own=False)
        for function in (each for module in modules for each in (module.body, *module.functions)):
            if function not in own:
                self._others.read(function, own=False)
        self._is_open = s[cls].open

    def reach(self, *names: str) -> set[str]:
        """These methods, and those of the same object that they call."""
        found: set[str] = set()
        todo = [name for name in names if name in self._methods]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += [called for called in self._methods[name].calls if called in self._methods]
        return found

    def _writes(self, names: Iterable[str]) -> set[str]:
        return {attribute for name in names for attribute in self._methods[name].writes}

    def filled(self, s: State, receiver: Ref) -> set[str]:
        """The attributes that an object has, but for tensors of no elements, which keep a place."""
        tensors = ((name, s.get(value, Tensor)) for name, value in s[receiver].attrs.items())
        return {name for name, tensor in tensors if tensor is None or 0 not in (tensor.shape or ())}

    def providers(self, name: str, held: Iterable[str]) -> list[str]:
        """The methods that give the object what a method reads and what it does not have yet.

        What makes the object itself what it is gets nothing from those that work with it, and no method from
        one that calls it: what it finds, it is given in that call.
        """
        mine = self.reach(name)
        wanted = {attribute for each in mine for attribute in self._methods[each].reads}
        wanted -= {*held, *self._methods}
        constructs = _CONSTRUCTS.match(name) is not None
        found: list[str] = []
        for other in self._methods:
            if constructs and _CONSTRUCTS.match(other) is None:
                continue
            reached = self.reach(other)
            if name in reached:
                continue
            given = {attribute for each in reached for attribute in self._methods[each].binds} & wanted
            if given and other not in mine and not other.startswith("__") and len(found) < MOST_PROVIDERS:
                found.append(other)
                wanted -= given
        return found

    def opened(self, s: State, receiver: Ref, name: str) -> State:
        """The state in which nothing is known of what a method reads that is None until others set it.

        It would fail otherwise: what is used as a module, an optimizer or a scaler has been set before.
        """
        mine = self.reach(name)
        others = [touched for other, touched in self._methods.items() if other not in {*mine, "__init__"}]
        wanted = {attribute for each in mine for attribute in self._methods[each].reads}
        wanted -= {attribute for each in mine for attribute in self._methods[each].binds}
        given = self._elsewhere.gives.union(*(other.gives for other in others))
        unset = [each for each in wanted & given if s[receiver].attrs.get(each) == NONE]
        if not unset:
            return s
        state = s.fork()
        for attribute in unset:
            del state.edit(receiver).attrs[attribute]
        return state

    def differentiates(self, name: str) -> bool:
        """Does a method call `backward`, itself or in a method that it calls?"""
        return any(self._methods[each].differentiates for each in self.reach(name))

    def fillers(self, name: str, empty: set[str]) -> list[str]:
        """The methods that add to what a method that trains reads and what is empty as yet."""
        if not self.differentiates(name):
            return []
        mine = self.reach(name)
        wanted = {attribute for each in mine for attribute in self._methods[each].reads} & empty
        wanted -= {attribute for each in mine for attribute in self._methods[each].fills}
        return [
            other
            for other, touched in self._methods.items()
            if touched.fills & wanted and other not in mine and not other.startswith("__")
            if not self.differentiates(other)
        ][:1]

    def only_clears_itself(self, name: str) -> bool:
        """Is a method the only code in sight that may clear gradients between two calls of it?"""
        mine = self.reach(name)
        others = [touched for other, touched in self._methods.items() if other not in mine]
        return not self._is_open and not any(each.clears for each in (self._others, *others))

    def loose(self, name: str, filled: Iterable[str]) -> set[str]:
        """The attributes that other code may change between two calls of a method.

        What nothing but the methods that have `filled` it adds to stays: they run in between.
        """
        mine = self.reach(name)
        others = self._others_than(mine)
        loose = self._writes(others) | self._elsewhere.writes
        if self._is_open:
            return loose
        grown = {attribute for other in filled for attribute in self._methods[other].fills}
        takers = (*(self._methods[other] for other in (*others, *mine)), self._elsewhere)
        return loose - grown.difference(*(taker.takes for taker in takers))

    def rewritten(self, name: str) -> set[str]:
        """The attributes whose `.data` other code may write between two calls of a method."""
        written = [self._methods[other].data for other in self._others_than(self.reach(name))]
        return self._elsewhere.data.union(*written)

    def _others_than(self, mine: set[str]) -> list[str]:
        """The methods that may run between two calls of these."""
        return [other for other in self._methods if other not in mine and _CONSTRUCTS.match(other) is None]


class Passes:
    """Listens, while it is entered, whether a backward runs, and whether one runs that no loop repeats."""

    def __init__(self, m: Interpreter) -> None:
        self._listeners = m.listeners.setdefault(BackwardRan, [])
        self.ran = self.outside_loops = False

    def __enter__(self) -> Self:
        self._listeners.append(self._on_backward_ran)
        return self

    def __exit__(self, *_: object) -> None:
        self._listeners.remove(self._on_backward_ran)

    def _on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        self.ran = True
        self.outside_loops = self.outside_loops or not m.places.repeats(s, fact.run.site)


def between_calls(
    s: State, receiver: Ref, loose: set[str], rewritten: set[str], *, keep_gradients: bool
) -> None:
    """Forget what may change between two calls: attributes that others write, and gradients.

    A tensor whose `.data` others write (`rewritten`) stays what it is: autograd does not see that.
    """
    s.again = True
    for ref in reachable(s, [receiver]):
        record = s.get(ref, Instance)
        if record is not None and STAGE in record.attrs:
            del s.edit(ref).attrs[STAGE]
        for attribute, value in list(record.attrs.items()) if record is not None else ():
            if attribute in loose or (attribute in rewritten and s.get(value, Tensor) is None):
                s.edit(ref).attrs[attribute] = unknown()
    for ref, tensor in () if keep_gradients else s.records(Tensor):
        if tensor.leaf is not False and tensor.requires_grad is not False:
            mine = s.edit(ref)
            mine.grad_state, mine.grad = "unknown", unknown()


def graphs_kept(s: State, receiver: Ref) -> tuple[tuple[str, str], ...]:
    """The attributes of an object and of what it holds, with their classes, in which results have graphs."""
    owners = (s.get(ref, Instance) for ref in reachable(s, [receiver]))
    kept = (
        (cls.name, name)
        for record in owners
        if record is not None and (cls := s.get(record.cls, Class)) is not None
        for name, value in record.attrs.items()
        if not name.startswith("#") and _has_graph(s, value)
    )
    return tuple(dict.fromkeys(kept))


def _has_graph(s: State, value: Value, depth: int = 2) -> bool:
    """Is it a result with a graph, or a container of some?"""
    if isinstance(value, Symbol):
        return value.kind == GRAPH
    tensor, row, table = s.get(value, Tensor), s.get(value, List), s.get(value, Dict)
    if tensor is not None:
        return tensor.grad_fn is not None
    parts = [*row.items] if row is not None else [*table.items.values()] if table is not None else []
    parts += value.items if isinstance(value, Tup) else ()
    return depth > 0 and any(_has_graph(s, part, depth - 1) for part in parts)


def empty_containers(s: State, receiver: Value) -> set[str]:
    """The attributes of an object that hold empty lists, or objects that are made of some."""
    record = s.get(receiver, Instance)
    return set() if record is None else {name for name, value in record.attrs.items() if _is_empty(s, value)}


def _is_empty(s: State, value: Value, depth: int = 1) -> bool:
    row, record = s.get(value, List), s.get(value, Instance)
    if row is not None:
        return not row.items and not row.open
    is_own = record is not None and s.get(record.cls, Class) is not None and depth > 0
    return is_own and any(_is_empty(s, part, depth - 1) for part in record.attrs.values())  # type: ignore[union-attr]
