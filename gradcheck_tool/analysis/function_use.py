"""Ordinary use of a custom `autograd.Function` of which nothing in sight runs the backward.

It is applied to tensors that require a gradient, and its result is differentiated once; where `backward`
asks which inputs need a gradient, also as if each of them alone did. Which arguments are tensors is read off
its text: what it saves for backward, what it calls tensor methods on, what `backward` gives a gradient for,
and all that a `*args` takes. An argument that `forward` compares with None is None in an application of its
own; in another, an option that is off by default is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.analysis.ordinary_use import roots_in, tensors_in
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Ref,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import backward as engine
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.calls import DECORATED
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.autograd import run_pass
from gradcheck_tool.library.torch.function_application import backward_of, method_of, read_in_backward
from gradcheck_tool.library.torch.function_backward import run_functions
from gradcheck_tool.library.torch.function_text import FunctionBody, function_class_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.library.torch.function_text import FunctionClass

FUNCTION = "torch.autograd.Function"
# How many tensors a `*args` gets: enough for two that have names of their own, and one more.
SURPLUS = 3
# Of how many inputs each is the only one that needs a gradient once.
MOST_ALONE = 4
# Of how many options each is once the other way round.
MOST_OPTIONS = 3
# How many ways through a forward are differentiated that its arguments do not tell apart.
MOST_ALIKE = 2
_BY_POSITION = (ir.ArgKind.POSITIONAL, ir.ArgKind.STAR)
# Attributes that only tensors have, as far as arguments of Functions are concerned.
TENSOR_ATTRIBUTES = frozenset({"shape", "device", "dtype", "is_cuda", "requires_grad", "ndim", "T"})


def is_function_class(s: State, cls: Value) -> bool:
    """Does a class of the repository derive from `torch.autograd.Function`?"""
    return s.get(cls, Class) is not None and FUNCTION in attributes.lib_bases(s, cls)


def forward_of(s: State, cls: Value) -> Func | None:
    """The `forward` of a Function class that `apply` can use.

    None where it is of the old style, made without a backward, or written for the `forward` of subclasses to
    call, with the context in another place than `apply` passes it; and where a decorator adds arguments. Of a
    decorated one it is what takes arguments by name: the wrapper, or else what is wrapped.
    """
    forward = attributes.in_class(s, cls, "forward") or NONE
    function = attributes.function_of(s, forward)
    is_old = function == forward and attributes.in_class(s, cls, "__init__") is not None
    contract = function_class_of(s, cls)
    if is_old or s.get(backward_of(s, cls), Func) is None or (contract and _takes_context_later(contract)):
        return None
    func = s.get(function, Func)
    while func is not None and "__wrapped__" in func.attrs and _is_variadic(func):
        func = s.get(func.attrs["__wrapped__"], Func) if _hands_on_as_given(func.function) else None
    return func


def _hands_on_as_given(wrapper: ir.Function) -> bool:
    """Does a wrapper that takes any number of arguments add none where it calls what it wraps?"""
    own = sum(p.is_positional for p in wrapper.params)
    as_given = [ir.ArgKind.POSITIONAL] * own + [ir.ArgKind.STAR]
    body: FunctionBody = wrapper.worked_out(FunctionBody)
    for call in (i for i in body.instrs if isinstance(i, ir.Call)):
        made = body.maker(call.func)
        kinds = [arg.kind for arg in call.args if arg.kind in _BY_POSITION]
        is_wrapped = isinstance(made, ir.LoadName) and made.scope is ir.Scope.FREE
        if is_wrapped and ir.ArgKind.STAR in kinds and kinds != as_given:
            return False
    return True


def _takes_context_later(c: FunctionClass) -> bool:
    body = c.forward
    calls = body.calls("save_for_backward") if body is not None and c.setup is None else ()
    return any(body and body.source(func.obj) in body.params[1:] for _, func in calls)


def variants(forward: Func) -> list[tuple[str, Value]]:
    """Parameters that other applications may give another value: None, or the other of True and False.

    Those are the parameters that `forward` compares with None, and those with True or False for a default.
    """
    other: dict[Value, Value] = {TRUE: FALSE, FALSE: TRUE}
    options = [(p.name, forward.defaults.get(p.name, NONE)) for p in forward.function.params]
    return [
        *((name, NONE) for name in _optional(forward.function)),
        *[(name, other[default]) for name, default in options if default in other][:MOST_OPTIONS],
    ]


def _optional(function: ir.Function) -> list[str]:
    """The parameters that a function compares with None."""
    found: set[str] = set()
    for block in function.blocks.values():
        loaded = {i.dst: i.name for i in block.instrs if isinstance(i, ir.LoadName)}
        nothing = {i.dst for i in block.instrs if isinstance(i, ir.Const) and i.value is None}
        for i in block.instrs:
            if isinstance(i, ir.Compare) and i.op in ("is", "is-not") and i.right in nothing:
                found.add(loaded.get(i.left, ""))
    return [p.name for p in function.params if p.name in found]


def apply(m: Interpreter, s: State, cls: Ref, name: str, variant: tuple[str, Value] = ("", NONE)) -> Outcomes:
    """Apply a Function to tensors and differentiate what it returns; all states that come back.

    Args:
        m: the interpreter.
        s: the state in which it is applied.
        cls: the class of the Function.
        name: the class, in the user's words.
        variant: a parameter, and what it is given instead of what its use shows.
    """
    forward = forward_of(s, cls)
    if forward is None:
        return []
    setup = attributes.in_class(s, cls, "setup_context") is not None
    skip = (not setup) + isinstance(method_of(s, cls, "forward"), Bound)
    if _is_given_more(m, s, forward, skip):
        return []
    args = arguments(m, s, forward, skip, variant)
    site, text = m.site(s, s[cls].node), f"{name}.apply(...)"
    called = m.call(s, Method(cls, "apply"), args, {}, site, text, _is_variadic(forward))
    out: Outcomes = []
    trained = [ref for ref in args if isinstance(ref, Ref) and _requires_grad(s, ref)]
    asks = "needs_input_grad" in (read_in_backward(s, cls) or ())
    alone = trained[:MOST_ALONE] if len(trained) > 1 and asks else []
    for state, value in called:
        if state.exc is not None:
            out.append((state, value))
    for state, value in _apart([(state, value) for state, value in called if state.exc is None], args):
        for only in alone:
            fork = state.fork()
            _need_alone(fork, value, args, only)
            out += guard(m, fork, _differentiated, m, fork, value, site, name)
        out += guard(m, state, _differentiated, m, state, value, site, name)
    return out


def _requires_grad(s: State, ref: Ref) -> bool:
    """Is it a tensor that needs a gradient, not an object that is the default of a parameter?"""
    tensor = s.get(ref, Tensor)
    return tensor is not None and tensor.requires_grad is True


def _apart(outcomes: Outcomes, args: list[Value]) -> Outcomes:
    """Of the outcomes that no argument tells apart, a few."""
    count: dict[tuple[bool | None, ...], int] = {}
    out: Outcomes = []
    for s, value in outcomes:
        key = tuple(s.path_condition.get(arg) for arg in args)
        count[key] = count.get(key, 0) + 1
        if count[key] <= MOST_ALIKE:
            out.append((s, value))
    return out


def _need_alone(s: State, value: Value, args: list[Value], only: Ref) -> None:
    """Go on as if one input alone had needed a gradient."""
    for arg in args:
        if isinstance(arg, Ref) and _requires_grad(s, arg):
            s.edit(arg).requires_grad = arg == only
    for root in tensors_in(s, value):
        node = s.get(s[root].grad_fn, Node)
        if node is not None and s.get(node.function, Instance) is not None:
            context = s.edit(node.function)  # type: ignore[arg-type]
            context.attrs["needs_input_grad"] = Tup(tuple(Const(arg == only) for arg in args))


def backward_alone(m: Interpreter, s: State, cls: Ref, name: str) -> Outcomes:
    """Run the `backward` of a Function whose `forward` is too much work, with an unknown ctx."""
    site = m.site(s, s[cls].node)
    some = Tup((), open=True)
    attrs: dict[str, Value] = {"#class": cls, "#inputs": some, "#outputs": some}
    node = Node(f"{name}Backward", f"{name}.apply(...)", site)
    node.function = s.new(Instance(LibraryObject("#ctx"), attrs, open=True))
    p = engine.BackwardPass([], [], False, False, site, f"{name}.apply(...)")
    p.ran.append(s.new(node))
    return [(state, NONE) for state in run_functions(m, s, p)]


def is_differentiated(m: Interpreter, s: State, cls: Ref) -> bool:
    """Has a backward pass of the program's own run the `backward` of a Function?"""
    return id(s[cls].node) in m.program.differentiated


def _is_variadic(forward: Func) -> bool:
    """May `apply` get more arguments than are made here?"""
    return any(p.kind is ir.ParamKind.VARARGS for p in forward.function.params)


def _differentiated(m: Interpreter, s: State, value: Value, site: object, name: str) -> Outcomes:
    roots = roots_in(s, value)
    if s.exc is not None or not roots:
        return [(s, value)]
    cotangents: list[Value] = [new_tensor(s, site, shape=s[root].shape) for root in roots]
    text = f"{name}.apply(...)"
    p = engine.BackwardPass(roots, [True] * len(roots), False, False, site, text, cotangents=cotangents)
    run_pass(m, s, p)
    return [(state, value) for state in run_functions(m, s, p)]


def arguments(m: Interpreter, s: State, forward: Func, skip: int, variant: tuple[str, Value]) -> list[Value]:
    """An argument for each parameter of `forward`, and a few tensors where it takes any number of them.

    `apply` gets all arguments by position, so that an option that is False by default may be either. Where
    `backward` returns gradients for those without a default alone, those alone are given; and where one has
    the default that a variant asks for, as many as it returns gradients for; but no fewer than all
    applications in the file give.
    """
    returned = {n for n in _numbers_of_gradients(s, forward.cls) if n >= _least_given(m, s, forward.cls)}
    tensors = _tensor_parameters(forward.function) | _with_gradients(s, forward.cls)
    if not tensors and not _is_variadic(forward):
        # A Function that has a derivative is applied to a tensor at least, which comes first.
        text = function_class_of(s, forward.cls)
        several = _sequences(text) if text is not None and text.forward is not None else frozenset()
        tensors = frozenset(p.name for p in forward.function.params[skip:][:1] if p.name not in several)
    frozen = _given_none(s, forward.cls)
    needed = sum(p.is_positional and p.name not in forward.defaults for p in forward.function.params[skip:])
    out: list[Value] = []
    for p in forward.function.params[skip:]:
        if p.kind is ir.ParamKind.VARARGS:
            for number in range(SURPLUS):
                name = f"{p.name}[{number}]"
                out.append(new_tensor(s, m.site(s, p.node), requires_grad=True, leaf=False, name=name))
            continue
        if not p.is_positional:
            continue
        default = forward.defaults.get(p.name)
        if p.name == variant[0]:
            counts = [n for n in returned if needed <= n <= len(out)] if variant[1] == default else []
            if counts:
                return out[: max(counts)]
            if default is not None and len(out) in returned:
                break  # backward says that nobody gives it
            out.append(variant[1])
        elif p.name in tensors and not (isinstance(default, Const) and default.value is not None):
            trained = len(out) not in frozen
            ref = new_tensor(s, m.site(s, p.node), requires_grad=trained, leaf=False, name=p.name)
            out.append(ref)
        elif isinstance(default, Const) and len(out) in returned:
            break
        elif default in (TRUE, FALSE):
            out.append(unknown("bool"))
        else:
            out.append(default if default is not None else unknown())
    return out


def _is_given_more(m: Interpreter, s: State, forward: Func, skip: int) -> bool:
    """Does a decorator out of sight give `forward` more than applications in the file do?"""
    needed = sum(p.is_positional and p.name not in forward.defaults for p in forward.function.params[skip:])
    return DECORATED in forward.attrs and 0 < _least_given(m, s, forward.cls) < needed


def _least_given(m: Interpreter, s: State, cls: Value) -> int:
    """How many arguments each application of a Function in the file gives it at least."""
    record, main = s.get(cls, Class), m.program.main
    if record is None or main is None:
        return 0
    return main.body.worked_out(_least_given_by_name).get(record.name, 0)


def _least_given_by_name(module: ir.Function) -> dict[str, int]:
    """The fewest arguments that a file gives to `apply` of each name."""
    least: dict[str, int] = {}
    for function in module.with_inner():
        body = function.worked_out(FunctionBody)
        for call, func in body.calls("apply"):
            made = body.maker(func.obj)
            if isinstance(made, ir.LoadName):
                given = sum(arg.kind is ir.ArgKind.POSITIONAL for arg in call.args)
                least[made.name] = min(given, least.get(made.name, given))
    return least


def _numbers_of_gradients(s: State, cls: Value) -> set[int]:
    """How many gradients `backward` returns."""
    text = function_class_of(s, cls)
    if text is None or text.backward is None:
        return set()
    body = text.backward
    return {count for end in body.returns() if (count := _number_of_items(body, end)) is not None}


def _number_of_items(body: FunctionBody, end: ir.Return) -> int | None:
    """How many values a return gives; None where that is not written there."""
    if _is_put_together(body, end.value):
        return _repeated(body, end.value)
    return len(body.values(end))


def _repeated(body: FunctionBody, reg: int | None) -> int | None:
    """How many items `(None,) * 5` has."""
    made = body.maker(reg) if reg is not None else None
    if not isinstance(made, ir.BinOp) or made.op != "*":
        return None
    sides = [body.maker(side) for side in (made.left, made.right)]
    items = [len(one.items) for one in sides if isinstance(one, ir.BuildTuple)]
    times = [one.value for one in sides if isinstance(one, ir.Const) and isinstance(one.value, int)]
    return items[0] * times[0] if items and times else None


def _is_put_together(body: FunctionBody, reg: int | None) -> bool:
    """Is it a tuple that is made of others: `tuple(...)`, `(None,) + rest`?"""
    made = body.maker(reg) if reg is not None else None
    if isinstance(made, ir.BinOp):
        return any(isinstance(body.maker(side), ir.BuildTuple) for side in (made.left, made.right))
    func = body.made.get(made.func) if isinstance(made, ir.Call) else None
    return isinstance(func, ir.LoadName) and func.name == "tuple"


def _with_gradients(s: State, cls: Value) -> frozenset[str]:
    """Parameters of `forward` for which `backward` certainly returns something other than None."""
    text = function_class_of(s, cls)
    if text is None:
        return frozenset()
    names = text.arguments()
    return frozenset(names[i] for i in text.differentiable() if i < len(names)) - _sequences(text)


def _sequences(text: FunctionClass) -> frozenset[object]:
    """Parameters of `forward` that it goes through, or puts together: no tensors, but several of them."""
    body = text.forward
    assert body is not None
    found = {body.source(i.src) for i in body.instrs if isinstance(i, ir.GetIter)}
    for name in ("cat", "stack"):
        found |= {body.source(call.args[0].value) for call, _ in body.calls(name) if call.args}
    return frozenset(found)


def _given_none(s: State, cls: Value) -> frozenset[int]:
    """Inputs for which every return of `backward` has None: in ordinary use they require no gradient."""
    backward = s.get(backward_of(s, cls), Func)
    if backward is None:
        return frozenset()
    body = backward.function.worked_out(FunctionBody)
    rows = [body.values(end) for end in body.returns()]
    returned = [frozenset(index for index, reg in enumerate(row) if body.is_none(reg)) for row in rows]
    return frozenset.intersection(*returned) if returned else frozenset()


def _tensor_parameters(function: ir.Function) -> frozenset[str]:
    """Parameters that `forward` saves for backward or asks for what only tensors have."""
    found: set[str] = set()
    names = {p.name for p in function.params}
    for block in function.blocks.values():
        loaded: dict[int, str] = {}
        methods: dict[int, tuple[str | None, str]] = {}
        for instr in block.instrs:
            if isinstance(instr, ir.LoadName):
                loaded[instr.dst] = instr.name
            elif isinstance(instr, ir.GetAttr):
                owner = loaded.get(instr.obj)
                methods[instr.dst] = (owner, instr.name)
                if owner in names and instr.name in TENSOR_ATTRIBUTES:
                    found.add(str(owner))
            elif isinstance(instr, ir.Call):
                owner, method = methods.get(instr.func, (None, ""))
                if method == "save_for_backward":
                    found |= {loaded[a.value] for a in instr.args if a.value in loaded}
    return frozenset(found & names)
