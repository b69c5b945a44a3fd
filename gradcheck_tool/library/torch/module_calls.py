"""Calls of modules: hooks, forward, layers of the op tables, wrappers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Func, Instance
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Bound,
    Const,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.facts import ModuleCalled, ModuleReturned
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch import layers
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.library.torch.module_tree import SEQUENTIAL, WRAPPERS, container_items, modules
from gradcheck_tool.library.torch.opaque_modules import (
    call_is_recorded,
    call_opaque_function,
    call_opaque_module,
    callee_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes


def call_module(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`module(...)`: pre-hooks, forward, hooks. An argument `...` stands for what is still to be written."""
    if Const(Ellipsis) in call.args:
        return unknown()
    m.tell(s, ModuleCalled(ref, call))
    out: Outcomes = []
    pairs = [(s, list(call.args))]
    for hook in _hooks(s, ref, "#pre_hooks"):
        after = []
        for state, args in pairs:
            for st, answer in m.call(state, hook, [ref, Tup(tuple(args))], {}, call.site):
                keeps = answer == NONE or isinstance(answer, Symbol)
                given: list[Value] = list(answer.items) if isinstance(answer, Tup) else [answer]
                after.append((st, args if keeps else given))
        pairs = after
    for state, args in pairs:
        if state.exc is not None:
            out.append((state, NONE))
            continue
        inner = Call(call.func, args, call.kwargs, call.site, call.text, ref, call.unsure)
        out += guard(m, state, forward, m, state, ref, inner)
    for hook in _hooks(s, ref, "#hooks"):
        after_hooks: Outcomes = []
        for state, value in out:
            if state.exc is not None:
                after_hooks.append((state, value))
                continue
            for st, answer in m.call(state, hook, [ref, Tup(tuple(call.args)), value], {}, call.site):
                keep = answer == NONE or isinstance(answer, Symbol)
                after_hooks.append((st, value if keep else answer))
        out = after_hooks
    if "#backward_hooks" in s[ref].attrs:
        out = [(state, _guard_output(state, value, call)) for state, value in out]
    for state, value in out:
        m.tell(state, ModuleReturned(ref, call, value))
    return out


@method("torch.nn.Module", "__call__")
def call_base(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__call__(...)` in a module's own `__call__`."""
    return call_module(m, s, call.self, call)


def _guard_output(s: State, value: Value, call: Call) -> Value:
    """A full backward hook makes the outputs views of a custom Function, which forbid in-place edits."""
    if isinstance(value, Tup):
        return replace(value, items=tuple(_guard_output(s, item, call) for item in value.items))
    tensor = s.get(value, Tensor)
    if tensor is None or not tensor.requires_grad or not isinstance(value, Ref):
        return value
    node = Node(engine.HOOKED, call.text, call.site)
    node.inputs, node.needs = (engine.edge(s, value),), ((),)
    made = engine.function_output(s, value, [value], call.site, call.text)
    mine = s.edit(made)
    mine.grad_fn, mine.requires_grad, mine.leaf = s.new(node), True, False
    return made


def _hooks(s: State, ref: Ref, kind: str) -> list[Value]:
    value = s[ref].attrs.get(kind, Tup(()))
    return list(value.items)


def forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`forward` of a module of the repository, a layer, a container or a wrapper."""
    record: Instance = s[ref]
    own = record.attrs.get("forward") or attributes.in_class(s, record.cls, "forward")
    if own is not None:
        target = Bound(ref, own) if "forward" not in record.attrs else own
        return m.call(s, target, call.args, call.kwargs, call.site, call.text, call.unsure)
    return library_forward(m, s, ref, call)


def library_forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`forward` of the library class that a module is of, or is derived from."""
    names = attributes.lib_bases(s, s[ref].cls)
    if any(n in SEQUENTIAL for n in names):
        return _forward_sequential(m, s, ref, call)
    inner = s[ref].attrs.get("module")
    if any(n in WRAPPERS for n in names) and isinstance(inner, Ref):
        return m.call(s, inner, call.args, call.kwargs, call.site, call.text, call.unsure)
    for name in names:
        native = registry.METHODS.get((name, "forward"))
        if native is not None:
            return native(m, s, call)
        if layers.is_layer(name):
            return layers.run(m, s, ref, name, call)
    return unknown_forward(m, s, ref, call)


def unknown_forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """A module of which only the parameters may be known: the result depends on them in an unknown way."""
    return call_opaque_module(m, s, ref, call)


def forward_in_short(m: Interpreter, s: State, call: Call) -> Result:
    """A `forward` that takes too much work to be executed: its result depends on all parameters.

    Whether it leads back to the arguments of one that detaches what it computes of them is not known.
    """
    m.program.assume(f"`{callee_text(call)}` computes with all its parameters")
    own = s.get(attributes.in_class(s, s[call.self].cls, "forward"), Func)
    body: FunctionBody | None = own.function.worked_out(FunctionBody) if own is not None else None
    cuts = body is not None and any(body.comes_of_arguments(cut.obj) for _, cut in body.calls("detach"))
    _forget_kept(s, call.self)
    _forget_given(s, [*call.args, *call.kwargs.values()])
    return call_opaque_module(m, s, call.self, call, may_detach=cuts)


def _forget_given(s: State, given: Iterable[Value]) -> None:
    """The tensors that objects have which are given to it may be others afterwards, but for Parameters."""
    for ref in (each for each in given if isinstance(each, Ref) and s.get(each, Instance) is not None):
        for name, value in list(s[ref].attrs.items()):
            tensor = s.get(value, Tensor)
            if tensor is not None and not tensor.is_param:
                s.edit(ref).attrs[name] = unknown()


def _forget_kept(s: State, ref: Ref) -> None:
    """What modules keep of a call is not known, of one that is not executed to its end."""
    for _, at in modules(s, ref):
        record: Instance = s[at]
        for name in _kept(s, record.cls) & record.attrs.keys():
            tensor = s.get(record.attrs[name], Tensor)
            is_part = s.get(record.attrs[name], Instance) is not None or (tensor and tensor.is_param)
            if not is_part:
                s.edit(at).attrs[name] = unknown()


def _kept(s: State, cls: Value) -> set[str]:
    """The attributes that `forward`, or a method of the same object that it names, sets."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = {"forward"}
    while waiting:
        seen |= waiting
        methods = [s.get(attributes.in_class(s, cls, name), Func) for name in sorted(waiting)]
        waiting = set()
        for code in (each.function for each in methods if each is not None and each.function.params):
            receiver = code.params[0].name
            found |= code.attributes_written(receiver)
            waiting |= code.attributes_read(receiver) - seen
    return found


def _forward_sequential(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """One item after the other; what is not known among them is a layer all the same."""
    if s[ref].open:
        return call_opaque_module(m, s, ref, call)
    pairs: Outcomes = [(s, call.args[0] if call.args else unknown())]
    for item in container_items(s, ref) or []:
        after: Outcomes = []
        for state, value in pairs:
            if state.exc is not None:
                after.append((state, value))
            elif isinstance(item, Symbol) and call_is_recorded(state, value):
                layer = Call(item, [value], {}, call.site, call.text)
                after.append((state, call_opaque_function(state, layer)))
            else:
                after += m.call(state, item, [value], {}, call.site, call.text)
        pairs = after
    return pairs


@function(*WRAPPERS)
def wrap(m: Interpreter, s: State, call: Call) -> Result:
    """DataParallel, DDP, FSDP: a module that calls the one it holds."""
    inner = call.get(0, "module") or unknown()
    return s.new(
        Instance(call.func, {"module": inner, "training": TRUE}, open=s.get(inner, Instance) is None)
    )
