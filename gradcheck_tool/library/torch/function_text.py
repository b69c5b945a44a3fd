"""What the text of a custom `autograd.Function` says for certain, without running it.

The pass looks at the code of forward, backward and setup_context: which register holds which argument,
what is kept on ctx, what is returned. A name that may stand for one thing or another stands for nothing
known, so that every doubt ends in silence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import LibraryObject, Value
from gradcheck_tool.interp.attributes import function_of, innermost
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.dataflow import successors
from gradcheck_tool.ir.named_operators import with_operators
from gradcheck_tool.ir.operands import reads
from gradcheck_tool.ir.reaching import only_definitions
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.domain.state import State


# What torch and its parts are called.
_ROOTS = frozenset({"torch", "F", "nn"})
_PARTS = frozenset({"nn", "functional", "special", "linalg"})


def _blocks(function: ir.Function) -> list[ir.Block]:
    """The blocks that the text leads to, in their order."""
    reached: set[int] = set()
    todo = [function.entry]
    while todo:
        at = todo.pop()
        if at in reached:
            continue
        reached.add(at)
        block = function.blocks[at]
        only = _only_way(block)
        todo += successors(block) if only is None else [only]
        if block.handler is not None:
            todo.append(block.handler)
    return [function.blocks[at] for at in function.order if at in reached]


def _only_way(block: ir.Block) -> int | None:
    """Where a branch leads that is none: that of `if True`, or of a `with`, which swallows no errors here."""
    end = block.terminator
    last = next((i for i in reversed(block.instrs) if getattr(i, "dst", None) is not None), None)
    if not isinstance(end, ir.Branch) or last is None or getattr(last, "dst", None) != end.condition:
        return None
    if isinstance(last, ir.Const):
        return end.then if last.value else end.otherwise
    return end.otherwise if isinstance(last, ir.ExitWith) else None


class FunctionBody:
    """The code of one function, asked what its registers hold; a class method without its class."""

    def __init__(self, function: ir.Function, *, of_class: bool = False) -> None:
        self.function = function
        self.parameters = function.params[of_class:]
        self.params = [p.name for p in self.parameters]
        # What a method knows its object as, or ctx; empty where it takes nothing.
        self.receiver = self.params[0] if self.params else ""
        self.variadic = any(p.kind is ir.ParamKind.VARARGS for p in function.params)
        blocks = _blocks(function)
        self.instrs = [i for block in blocks for i in with_operators(block.instrs)]
        self.ends = [block.terminator for block in blocks if _only_way(block) is None]
        self.made: dict[int, ir.Instr] = {}
        self.stores: dict[str, list[ir.StoreName]] = {}
        self._definitions = only_definitions(function, blocks)
        for i in self.instrs:
            if isinstance(i, ir.StoreName):
                self.stores.setdefault(i.name, []).append(i)
            elif isinstance(i, ir.Unpack):
                self.made.update(dict.fromkeys(i.dsts, i))
            elif not isinstance(i, ir.Copy) and hasattr(i, "dst"):
                self.made[i.dst] = i

    def source(self, reg: int) -> str | int:
        """The parameter that a register holds, or the register of what made its value."""
        for _ in range(8):
            made = self.made.get(reg)
            if isinstance(made, ir.Unpack):
                part = self._part(made, reg)
                if part is None:
                    return reg
                reg = part
                continue
            if not isinstance(made, ir.LoadName) or made.scope is not ir.Scope.LOCAL:
                return reg
            definition = self._definitions.get(reg)
            if isinstance(definition, str):
                return definition
            if definition is not None:
                if definition.augmented:
                    return reg
                reg = definition.src
                continue
            stores = [store for store in self.stores.get(made.name, ()) if not store.augmented]
            if not stores and made.name in self.params:
                return made.name
            if len(stores) != 1 or made.name in self.params or len(self.stores[made.name]) > 1:
                return reg
            reg = stores[0].src
        return reg

    def _part(self, unpack: ir.Unpack, reg: int) -> int | None:
        """What a name gets of a tuple that is written beside it: `a, b = b, a`."""
        whole = self.made.get(unpack.src)
        if not isinstance(whole, ir.BuildTuple) or unpack.star is not None:
            return None
        if len(whole.items) != len(unpack.dsts) or any(is_starred for _, is_starred in whole.items):
            return None
        return whole.items[unpack.dsts.index(reg)][0]

    def maker(self, reg: int) -> ir.Instr | None:
        """The instruction that made the value of a register."""
        source = self.source(reg)
        return self.made.get(source) if isinstance(source, int) else None

    def is_library(self, reg: int) -> bool:
        """Is it torch or a part of it, by its name: `F`, `torch.nn.functional`?"""
        made = self.maker(reg)
        while isinstance(made, ir.GetAttr) and made.name in _PARTS:
            made = self.maker(made.obj)
        if isinstance(made, ir.Import):
            return made.module.partition(".")[0] == "torch"
        return isinstance(made, ir.LoadName) and made.scope is not ir.Scope.LOCAL and made.name in _ROOTS

    def uses(self, reg: int) -> Iterator[ir.Instr | ir.Terminator]:
        """What reads a register."""
        yield from (i for i in (*self.instrs, *self.ends) if i is not None and reg in reads(i))

    def comes_of_arguments(self, reg: int) -> bool:
        """Is a parameter among what the value of a register was computed from, on any way?"""
        return any(isinstance(origin, str) for origin in self.behind(reg))

    def behind(
        self, reg: int, ends: Callable[[ir.Instr], bool] = lambda _: False
    ) -> Iterator[ir.Instr | str]:
        """The instructions and the parameters that the value of a register was computed from, on any way."""
        for source in self.sources(reg, ends):
            yield source if isinstance(source, str) else self.made[source]

    def sources(self, reg: int, ends: Callable[[ir.Instr], bool] = lambda _: False) -> Iterator[int | str]:
        """The registers and the parameters that the value of a register was computed from, on any way.

        What is read of an object (of ctx) includes what the method stores there under that name. What is
        behind an instruction that `ends` a way is left out.
        """
        seen: set[int] = set()
        todo = [reg]
        while todo:
            source = self.source(todo.pop())
            if isinstance(source, str):
                yield source
                continue
            made = self.made.get(source)
            if source in seen or made is None:
                continue
            seen.add(source)
            yield source
            if ends(made):
                continue
            if isinstance(made, ir.LoadName) and made.scope is ir.Scope.LOCAL:
                if made.name in self.params:
                    yield made.name
                todo += [store.src for store in self.stores.get(made.name, ())]
            elif isinstance(made, ir.GetAttr):
                todo += [i.src for i in self.instrs if isinstance(i, ir.SetAttr) and i.name == made.name]
            todo += [read for read in reads(made) if read is not None]

    def calls(self, name: str) -> Iterator[tuple[ir.Call, ir.GetAttr]]:
        """Calls of methods of this name."""
        for i in self.instrs:
            if isinstance(i, ir.Call):
                func = self.maker(i.func)
                if isinstance(func, ir.GetAttr) and func.name == name:
                    yield i, func

    def returns(self) -> list[ir.Return]:
        """The reachable `return` statements and ends of the body."""
        return [end for end in self.ends if isinstance(end, ir.Return)]

    def values(self, end: ir.Return) -> list[int]:
        """The registers that a `return` hands out one by one."""
        if end.value is None:
            return []
        made = self.maker(end.value)
        if isinstance(made, ir.BuildTuple):
            return [reg for reg, _ in made.items]
        return [end.value]

    def is_none(self, reg: int) -> bool:
        """Is it certainly a literal None?"""
        made = self.maker(reg)
        return isinstance(made, ir.Const) and made.value is None


def _class_method_body(function: ir.Function) -> FunctionBody:
    return FunctionBody(function, of_class=True)


class FunctionClass:
    """A custom Function: its methods, also those of bases in its file, and what their text says.

    Attributes:
        closed: whether these are all methods that it has, and none of them overrides another.
    """

    def __init__(self, s: State, record: Class) -> None:
        self.name = record.name
        self.record = record
        self.methods: dict[str, FunctionBody] = {}
        self.static: dict[str, bool] = {}
        self.module: Any = record.env.module
        lineage = [base for entry in record.mro if (base := s.get(entry, Class)) is not None]
        here = [base for base in lineage if base.env.module is self.module]
        defined = [(name, value) for base in here for name, value in base.attrs.items()]
        for name, value in reversed(defined):
            wrapper = s.get(value, Instance)
            func = s.get(innermost(s, function_of(s, value)), Func)
            if func is not None:
                work = _class_method_body if is_class_method(wrapper) else FunctionBody
                self.methods[name] = func.function.worked_out(work)
                self.static[name] = wrapper is not None
        others = [entry for entry in record.mro if s.get(entry, Class) not in here]
        names = [name for name, _ in defined if name in self.methods]
        overrides = len(names) > len(self.methods)
        self.closed = others == [LibraryObject("torch.autograd.Function")] and not overrides
        self.forward = self.methods.get("forward")
        self.backward = self.methods.get("backward")
        self.setup = self.methods.get("setup_context")

    def text(self, node: Any) -> str:
        """The source text of a node, on one line."""
        return one_line(self.module.spans.text(node))

    # -- what is what -----------------------------------------------------------------------------

    def arguments(self) -> list[str]:
        """The names of forward's arguments, without ctx."""
        if self.forward is None:
            return []
        return self.forward.params if self.setup is not None else self.forward.params[1:]

    def is_option(self, index: int) -> bool:
        """Has this argument of forward a default? Then it is an option, no tensor."""
        params = self.forward.parameters if self.forward is not None else ()
        index += self.setup is None
        return index < len(params) and params[index].has_default

    def argument(self, body: FunctionBody, reg: int) -> int | None:
        """Which argument of `apply` a register of forward or setup_context certainly holds."""
        source = body.source(reg)
        if body is self.forward and isinstance(source, str):
            names = self.arguments()
            kinds = {p.name: p.kind for p in body.function.params}
            fixed = source in names and kinds[source] is not ir.ParamKind.VARARGS
            return names.index(source) if fixed else None
        if body is self.setup and isinstance(source, int) and len(body.params) > 1:
            made = body.made.get(source)
            if isinstance(made, ir.Unpack) and made.star is None and body.source(made.src) == body.params[1]:
                return made.dsts.index(source)
        return None

    def keepers(self) -> list[FunctionBody]:
        """The methods that may keep something on ctx."""
        keeper = self.setup if self.setup is not None else self.forward
        return [keeper] if keeper is not None else []

    def context(self, body: FunctionBody) -> str:
        """The name under which a method knows ctx."""
        return body.receiver

    def differentiable(self) -> set[int]:
        """Arguments for which backward certainly returns something other than a literal None.

        One value for several arguments is a tuple, of which nothing is known here.
        """
        if self.backward is None or self.forward is None:
            return set()
        found: set[int] = set()
        single = len(self.arguments()) == 1 and not self.forward.variadic
        for end in self.backward.returns():
            values = self.backward.values(end)
            if single or values != [end.value]:
                found |= {i for i, reg in enumerate(values) if not self.backward.is_none(reg)}
        return found

    def read_in(self, body: FunctionBody) -> set[str]:
        """Attributes that a method reads of anything."""
        return {i.name for i in body.instrs if isinstance(i, ir.GetAttr)}


def is_class_method(wrapper: Instance | None) -> bool:
    """Is what a class has under a name a `classmethod`?"""
    return wrapper is not None and wrapper.cls == LibraryObject("builtins.classmethod")


def function_class_of(s: State, cls: Value) -> FunctionClass | None:
    """The contract of a class of the repository."""
    record = s.get(cls, Class)
    return FunctionClass(s, record) if record is not None else None


def kept(c: FunctionClass) -> Iterator[tuple[FunctionBody, ir.SetAttr]]:
    """Where attributes of ctx are set for backward, and in which method."""
    for body in c.keepers():
        for i in body.instrs:
            if isinstance(i, ir.SetAttr) and body.source(i.obj) == c.context(body):
                yield body, i


def return_of(func: Func, count: int | None = None, kind: type[ir.Instr] | None = None) -> Site | None:
    """Where a function returns so many values (or one made so); None where it returns nothing."""
    body = func.function.worked_out(FunctionBody)
    ends = [end for end in body.returns() if end.value is not None]
    if kind is not None:
        ends = [end for end in ends if isinstance(body.maker(end.value or 0), kind)] or ends
        maker = body.maker(ends[0].value or 0) if ends else None
        if isinstance(maker, kind):
            return Site(func.env.module, maker.node)
    elif count is not None:
        ends = [end for end in ends if len(body.values(end)) == count] or ends
    return Site(func.env.module, ends[0].node) if ends else None


def place_on_ctx(s: State, cls: Value, name: str) -> Site | None:
    """Where forward sets an attribute of ctx, in a class whose backward reads it."""
    contract = function_class_of(s, cls)
    if contract is None or contract.backward is None or name not in contract.read_in(contract.backward):
        return None
    return next((Site(contract.module, i.node) for _, i in kept(contract) if i.name == name), None)


# Names of methods that write to their tensor, but for some that change no value.
WRITE = re.compile(r"[a-z]\w*[^_]_")
NOT_WRITES = frozenset({"requires_grad_", "detach_", "share_memory_", "rename_", "retain_", "coalesce_"})


def writes(body: FunctionBody, operators: bool = False) -> Iterator[tuple[Any, int]]:
    """Statements that write a register's tensor in place."""
    for i in body.instrs:
        if isinstance(i, ir.Call):
            func = body.made.get(i.func)
            if isinstance(func, ir.GetAttr) and WRITE.fullmatch(func.name) and func.name not in NOT_WRITES:
                yield i.node, func.obj
        elif isinstance(i, ir.SetItem) and not i.augmented:
            yield i.node, i.obj
        elif operators and isinstance(i, ir.InplaceOp):
            yield i.node, i.left
