"""What the text of a custom `autograd.Function` says for certain, without running it.

The pass looks at the code of forward, backward and setup_context: which register holds which argument,
what is kept on ctx, what is returned. A name that is bound more than once stands for nothing known, so
that every doubt ends in silence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import FunctionDefect, Site
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Frame, Func, Instance, List
from gradcheck_tool.domain.values import LibraryObject, Tup, Value
from gradcheck_tool.interp.attributes import in_class
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.operands import reads
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

STATIC = ("forward", "backward", "setup_context", "jvp", "vmap")
WRITE = re.compile(r"[a-z]\w*[^_]_")
NOT_WRITES = frozenset({"requires_grad_", "detach_", "share_memory_", "rename_", "retain_", "coalesce_"})
LEAVES = frozenset({"data", "detach", "numpy"})
# What makes no differentiable value of a tensor.
CONSTANT = frozenset(
    [
        "argmax",
        "argmin",
        "argsort",
        "sign",
        "round",
        "floor",
        "ceil",
        "trunc",
        "shape",
        "size",
        "dim",
        "ndim",
        "numel",
        "dtype",
        "device",
        "new_zeros",
        "new_ones",
        "new_empty",
        "new_full",
        "new_tensor",
        "zeros_like",
        "ones_like",
        "empty_like",
        "rand_like",
        "randn_like",
        "full_like",
        "zeros",
        "ones",
        "empty",
        "rand",
        "randn",
        "full",
        "arange",
        "eye",
        "item",
        "tolist",
        "numpy",
        "detach",
        "data",
        "long",
        "int",
        "bool",
        "nonzero",
        "unique",
        "is_cuda",
        "stride",
        "is_contiguous",
        "type",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "isnan",
        "isinf",
        "isfinite",
        "all",
        "any",
        "bernoulli",
    ]
)
ROOTS = frozenset({"torch", "F", "nn"})


class Body:
    """The code of one function, asked what its registers hold."""

    def __init__(self, function: ir.Function) -> None:
        self.function = function
        self.params = [p.name for p in function.params]
        self.variadic = any(p.kind is ir.ParamKind.VARARGS for p in function.params)
        self.instrs = [i for b in function.order for i in function.blocks[b].instrs]
        self.ends = [function.blocks[b].terminator for b in function.order]
        self.made: dict[int, ir.Instr] = {}
        self.stores: dict[str, list[ir.StoreName]] = {}
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
            if not isinstance(made, ir.LoadName) or made.scope is not ir.Scope.LOCAL:
                return reg
            stores = [store for store in self.stores.get(made.name, ()) if not store.augmented]
            if not stores and made.name in self.params:
                return made.name
            if len(stores) != 1 or made.name in self.params or len(self.stores[made.name]) > 1:
                return reg
            reg = stores[0].src
        return reg

    def maker(self, reg: int) -> ir.Instr | None:
        """The instruction that made the value of a register."""
        source = self.source(reg)
        return self.made.get(source) if isinstance(source, int) else None

    def comes_of_arguments(self, reg: int) -> bool:
        """Is a parameter among what the value of a register was computed from, on any way?"""
        seen: set[int] = set()
        todo = [reg]
        while todo:
            source = self.source(todo.pop())
            if isinstance(source, str):
                return True
            made = self.made.get(source)
            if source in seen or made is None:
                continue
            seen.add(source)
            if isinstance(made, ir.LoadName) and made.scope is ir.Scope.LOCAL:
                if made.name in self.params:
                    return True
                todo += [store.src for store in self.stores.get(made.name, ())]
            todo += [read for read in reads(made) if read is not None]
        return False

    def calls(self, name: str) -> Iterator[tuple[ir.Call, ir.GetAttr]]:
        """Calls of methods of this name."""
        for i in self.instrs:
            if isinstance(i, ir.Call):
                func = self.made.get(i.func)
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


class Contract:
    """A custom Function: its methods and what its text says of them."""

    def __init__(self, s: State, record: Class) -> None:
        self.name = record.name
        self.record = record
        self.methods: dict[str, Body] = {}
        self.static: dict[str, bool] = {}
        self.module: Any = record.env.module
        self.closed = record.mro[1:] == (LibraryObject("torch.autograd.Function"),)
        for name, value in record.attrs.items():
            wrapper = s.get(value, Instance)
            func = s.get(wrapper.attrs.get("#func") if wrapper is not None else value, Func)
            if func is not None:
                self.methods[name] = Body(func.function)
                self.static[name] = wrapper is not None
        self.forward = self.methods.get("forward")
        self.backward = self.methods.get("backward")
        self.setup = self.methods.get("setup_context")

    def defect(self, node: Any, kind: str, detail: str = "") -> FunctionDefect:
        """An event about this Function at a node of its module."""
        return FunctionDefect(site=Site(self.module, node), function=self.name, kind=kind, detail=detail)

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
        params = self.forward.function.params if self.forward is not None else ()
        index += self.setup is None
        return index < len(params) and params[index].has_default

    def argument(self, body: Body, reg: int) -> int | None:
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

    def keepers(self) -> list[Body]:
        """The methods that may keep something on ctx."""
        keeper = self.setup if self.setup is not None else self.forward
        return [keeper] if keeper is not None else []

    def context(self, body: Body) -> str:
        """The name under which a method knows ctx."""
        return body.params[0] if body.params else ""

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

    def read_in(self, body: Body) -> set[str]:
        """Attributes that a method reads of anything."""
        return {i.name for i in body.instrs if isinstance(i, ir.GetAttr)}


def contract_of(s: State, cls: Value) -> Contract | None:
    """The contract of a class of the repository."""
    record = s.get(cls, Class)
    return Contract(s, record) if record is not None else None


Check = Callable[[Contract], "Iterator[FunctionDefect]"]


def announce(m: Interpreter, s: State, cls: Value) -> None:
    """Report what is certainly wrong in the text of a Function."""
    from gradcheck_tool.trackers import backward_reads

    contract = contract_of(s, cls)
    if contract is None:
        return
    for check in (*CHECKS, *backward_reads.CHECKS):
        for event in check(contract):
            m.emit(event)


# -- checks -----------------------------------------------------------------------------------------


def kept(c: Contract) -> Iterator[tuple[Body, ir.SetAttr]]:
    """Where attributes of ctx are set for backward, and in which method."""
    for body in c.keepers():
        for i in body.instrs:
            if isinstance(i, ir.SetAttr) and body.source(i.obj) == c.context(body):
                yield body, i


def input_on_ctx(c: Contract) -> Iterator[FunctionDefect]:
    """`ctx.x = x` that backward reads, where backward returns a gradient for x."""
    if c.backward is None:
        return
    read, grads = c.read_in(c.backward), c.differentiable()
    for body, i in kept(c):
        index = c.argument(body, i.src)
        if index is not None and index in grads and i.name in read and not c.is_option(index):
            names = c.arguments()
            yield c.defect(i.node, "input-on-ctx", names[index] if index < len(names) else i.name)


def output_on_ctx(c: Contract) -> Iterator[FunctionDefect]:
    """`ctx.y = y` where y is returned."""
    if c.forward is None or c.setup is not None or any(c.forward.calls("mark_non_differentiable")):
        return
    returned = {c.forward.source(reg) for end in c.forward.returns() for reg in c.forward.values(end)}
    for body, i in kept(c):
        source = body.source(i.src)
        computed = not isinstance(body.maker(i.src), (ir.Const, ir.LoadName))
        if isinstance(source, int) and source in returned and computed:
            yield c.defect(i.node, "output-on-ctx", c.text(i.node).rpartition("=")[2].strip() or i.name)


def missing_return(c: Contract) -> Iterator[FunctionDefect]:
    """A backward that computes and never returns a value."""
    from gradcheck_tool.ir import syntax

    body = c.backward
    if body is None or body.function.is_generator:
        return
    ends = body.returns()
    works = any(isinstance(i, (ir.BinOp, ir.Call, ir.UnaryOp)) for i in body.instrs)
    if ends and works and all(end.value is None and not isinstance(end.node, syntax.Return) for end in ends):
        yield c.defect(body.function.node, "missing-return")


def unmarked_write(c: Contract) -> Iterator[FunctionDefect]:
    """`x.mul_()` in forward on an argument that is differentiable and not marked dirty."""
    body = c.forward
    keepers = [keeper for keeper in (body, c.setup) if keeper is not None]
    if body is None or any(call for keeper in keepers for call in keeper.calls("mark_dirty")):
        return
    grads = c.differentiable()
    for node, reg in writes(body):
        index = c.argument(body, reg)
        if index is not None and index in grads:
            yield c.defect(node, "unmarked-write", c.arguments()[index])


def writes(body: Body, operators: bool = False) -> Iterator[tuple[Any, int]]:
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


def untracked_backward(c: Contract) -> Iterator[FunctionDefect]:
    """numpy, `.data`, `.detach()` or no_grad in a backward that may be differentiated again."""
    body = c.backward
    if body is None:
        return
    marks = [c.text(d.decorator) for d in getattr(body.function.node, "decorators", ())]
    if any("once_differentiable" in mark for mark in marks):
        return
    context = c.context(body)
    for i in body.instrs:
        if isinstance(i, ir.GetAttr) and i.name in LEAVES and body.source(i.obj) != context:
            yield c.defect(body.function.node, "untracked-backward", c.text(i.node))
            return
        if isinstance(i, ir.EnterWith):
            manager = body.made.get(i.manager)
            func = body.made.get(manager.func) if isinstance(manager, ir.Call) else None
            if isinstance(func, ir.GetAttr) and func.name == "no_grad":
                text = c.text(manager.node if manager else i.node)
                yield c.defect(body.function.node, "untracked-backward", text)
                return


def not_static(c: Contract) -> Iterator[FunctionDefect]:
    """A method without @staticmethod beside one that has it: a forgotten decorator, not the old style."""
    if not any(c.static[name] for name in STATIC if name in c.methods):
        return
    for name in STATIC:
        body = c.methods.get(name)
        if body is not None and not c.static[name] and not getattr(body.function.node, "decorators", True):
            yield c.defect(body.function.node, "not-static", name)


def none_guard(c: Contract) -> Iterator[FunctionDefect]:
    """set_materialize_grads(False) with several outputs, and a backward that tests nothing for None."""
    if c.backward is None or c.forward is None or not _materialize_off(c):
        return
    counts = {len(c.forward.values(end)) for end in c.forward.returns()}
    names = set(c.backward.params[1:])
    if min(counts, default=0) < 2 or len(names) < 2 or any(isinstance(e, ir.Branch) for e in c.backward.ends):
        return
    for i in c.backward.instrs:
        regs = [i.left, i.right] if isinstance(i, ir.BinOp) else [i.obj] if isinstance(i, ir.GetAttr) else []
        for reg in regs:
            source = c.backward.source(reg)
            if source in names:
                yield c.defect(i.node, "none-guard", str(source))
                return


def _materialize_off(c: Contract) -> bool:
    for body in (c.forward, c.setup):
        for call, _ in body.calls("set_materialize_grads") if body is not None else ():
            made = body.maker(call.args[0].value) if body is not None and call.args else None
            if isinstance(made, ir.Const) and made.value is False:
                return True
    return False


def state_on_class(c: Contract) -> Iterator[FunctionDefect]:
    """What forward stores on the class, or in a global, and backward reads."""
    if c.forward is None or c.backward is None:
        return
    back = c.backward
    attributes = {i.name for i in back.instrs if isinstance(i, ir.GetAttr) and _is_name(back, i.obj, c.name)}
    names = {i.name for i in back.instrs if isinstance(i, ir.LoadName) and i.scope is ir.Scope.GLOBAL}
    for i in c.forward.instrs:
        if not isinstance(i, (ir.SetAttr, ir.StoreName)) or i.augmented:
            continue
        if not c.forward.comes_of_arguments(i.src):
            continue  # a module loaded late, a count: not what this call computes
        if isinstance(i, ir.SetAttr) and i.name in attributes and _is_name(c.forward, i.obj, c.name):
            yield c.defect(i.node, "state-on-class", f"{c.name}.{i.name}")
        elif isinstance(i, ir.StoreName) and i.scope is ir.Scope.GLOBAL and i.name in names:
            yield c.defect(i.node, "state-on-class", i.name)


def _is_name(body: Body, reg: int, name: str) -> bool:
    made = body.made.get(reg)
    return isinstance(made, ir.LoadName) and made.name == name and made.scope is not ir.Scope.LOCAL


def unused_ctx(c: Contract) -> Iterator[FunctionDefect]:
    """An attribute of ctx that no method reads, in a class whose ctx goes nowhere else."""
    if not on_ctx_only(c):
        return
    read = {name for body in c.methods.values() for name in c.read_in(body)}
    for _, i in kept(c):
        if i.name not in read:
            yield c.defect(i.node, "unused-ctx", i.name)


def on_ctx_only(c: Contract) -> bool:
    """Is there a backward, and are the methods seen here all that may read what is on ctx?"""
    return (
        c.backward is not None
        and c.closed
        and bool(c.backward.returns())
        and not any(_escapes(c, body) for body in c.methods.values())
    )


def _escapes(c: Contract, body: Body) -> bool:
    """Is ctx handed to other code, or read by functions inside?"""
    context = c.context(body)
    if context in body.function.captured:
        return True
    owners = {i.obj for i in body.instrs if isinstance(i, (ir.GetAttr, ir.SetAttr))}
    loads = [i.dst for i in body.instrs if isinstance(i, ir.LoadName) and i.name == context]
    return any(reg not in owners and body.source(reg) == context for reg in loads)


CHECKS: tuple[Check, ...] = (
    input_on_ctx,
    output_on_ctx,
    missing_return,
    unmarked_write,
    untracked_backward,
    not_static,
    none_guard,
    state_on_class,
    unused_ctx,
)


# -- asked by `apply` -------------------------------------------------------------------------------


def ignored_inputs(c: Contract) -> dict[int, Any]:
    """Arguments that the result is computed from and for which backward returns a literal None: its node."""
    if c.forward is None or c.backward is None:
        return {}
    ends = c.backward.returns()
    if not ends or c.forward.variadic:
        return {}
    used = flowing(c)
    found: dict[int, Any] = {}
    for index in used:
        regs = [c.backward.values(end) for end in ends]
        if all(index < len(row) and len(row) > 1 and c.backward.is_none(row[index]) for row in regs):
            made = c.backward.maker(regs[0][index])
            if made is not None:
                found[index] = made.node
    return found


def guarded_inputs(c: Contract) -> dict[int, Any]:
    """Arguments that the result is computed from, and for which backward returns a gradient or None.

    Which of them depends on `needs_input_grad`. Gives the node that returns it.
    """
    if c.forward is None or c.backward is None or "needs_input_grad" not in c.read_in(c.backward):
        return {}
    found: dict[int, Any] = {}
    for end in c.backward.returns():
        row = c.backward.values(end)
        found |= {i: end.node for i in flowing(c) if i < len(row) and not c.backward.is_none(row[i])}
    return found


def flowing(c: Contract) -> set[int]:
    """Arguments on which forward's result depends differentiably, followed through torch operations only."""
    body = c.forward
    assert body is not None
    seen: set[int] = set()
    found: set[int] = set()
    todo = [reg for end in body.returns() for reg in body.values(end)]
    while todo:
        reg = todo.pop()
        source = body.source(reg)
        if isinstance(source, str):
            index = c.argument(body, reg)
            if index is not None:
                found.add(index)
            continue
        if source in seen:
            continue
        seen.add(source)
        todo += _operands(body, body.made.get(source))
    return found


def _operands(body: Body, made: ir.Instr | None) -> list[int]:
    if isinstance(made, ir.BinOp):
        return [made.left, made.right]
    if isinstance(made, ir.UnaryOp):
        return [made.value] if made.op == "-" else []
    if isinstance(made, ir.Call):
        func = body.made.get(made.func)
        if not isinstance(func, ir.GetAttr) or func.name in CONSTANT:
            return []
        owner = body.made.get(func.obj)
        of_library = isinstance(owner, ir.LoadName) and owner.scope is not ir.Scope.LOCAL
        if of_library and isinstance(owner, ir.LoadName):
            return [a.value for a in made.args] if owner.name in ROOTS and func.name != "where" else []
        return [func.obj]
    return []


def return_of(func: Func, count: int | None = None, kind: type[ir.Instr] | None = None) -> Site | None:
    """Where a function returns so many values (or one made so); None where it returns nothing."""
    body = Body(func.function)
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
    contract = contract_of(s, cls)
    if contract is None or contract.backward is None or name not in contract.read_in(contract.backward):
        return None
    return next((Site(contract.module, i.node) for _, i in kept(contract) if i.name == name), None)


def applied(m: Interpreter, s: State, cls: Value, call: Call) -> None:
    """Report what a call of `apply` gets wrong for certain."""
    contract = contract_of(s, cls)
    if contract is None or s.grad is not True or s.inference or call.kwargs or call.unsure:
        return
    _hidden_tensors(m, s, contract, call)
    direct = {i for i, a in enumerate(call.args) if _wants_grad(s, a)}
    for index, node in ignored_inputs(contract).items():
        if index in direct and index < len(contract.arguments()):
            m.emit(contract.defect(node, "none-for-input", contract.arguments()[index]))


def direct_forward(m: Interpreter, s: State, func: Func, call: Call) -> None:
    """Report `MyFunction.forward(ctx, x)` outside of Functions, where gradients are recorded."""
    caller: Frame = s[s.frames[-1]]
    if s.grad is not True or not _is_function(s, func.cls) or _is_function(s, caller.cls):
        return
    if in_class(s, func.cls, "backward") is None or not any(_wants_grad(s, a) for a in call.args):
        return
    m.emit(FunctionDefect(site=call.site, function=s[func.cls].name, kind="direct-forward"))  # type: ignore[index]


def _is_function(s: State, cls: Value) -> bool:
    record = s.get(cls, Class)
    return record is not None and LibraryObject("torch.autograd.Function") in record.mro


def _wants_grad(s: State, value: Value) -> bool:
    tensor = s.get(value, Tensor)
    return tensor is not None and tensor.requires_grad is True


def _hidden_tensors(m: Interpreter, s: State, c: Contract, call: Call) -> None:
    for index, value in enumerate(call.args):
        table = s.get(value, Dict)
        items = list(table.items.values()) if table is not None else []
        if isinstance(value, Tup) or s.get(value, List) is not None:
            items = elements(s, value)[0]
        if any(_wants_grad(s, item) and item not in call.args for item in items):
            nodes = getattr(call.site.node, "args", ())
            text = c.text(nodes[index].value) if index < len(nodes) else "..."
            m.emit(FunctionDefect(site=call.site, function=c.name, kind="hidden-tensors", detail=text))
