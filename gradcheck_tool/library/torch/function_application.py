"""Applying a custom `autograd.Function`: its forward, its graph node, what it saves."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.events import FunctionError
from gradcheck_tool.domain.graph import Node, SavedTensor, Tensor
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
    Super,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine.errors import Raised, story
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.facts import CallbackRan, LibraryCalled
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_inputs import misfit
from gradcheck_tool.library.torch.function_text import FunctionBody, is_class_method
from gradcheck_tool.library.torch.tensor_values import adopt, as_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


@function("torch.library.custom_op", "torch.library.triton_op", "#custom-op")
def custom_op(m: Interpreter, s: State, call: Call) -> Result:
    """The decorator of an operation: what that returns has the graph that `register_autograd` gives it."""
    given = [value for value in (*call.args, *call.kwargs.values()) if s.get(value, Func) is not None]
    return unknown() if given else LibraryObject("#custom-op")


@method("class torch.autograd.Function", "apply")
def apply(m: Interpreter, s: State, call: Call) -> Result:
    """`MyFunction.apply(...)`: forward without grad, then a node that runs `backward`."""
    cls = call.receiver if not isinstance(call.receiver, Super) else call.receiver.cls
    forward = attributes.in_class(s, cls, "forward")
    if forward is None:
        return unknown()
    m.tell(s, LibraryCalled("torch.autograd.Function.apply", replace(call, receiver=cls)))
    refused = misfit(m, s, cls, call)
    if refused is not None:
        return refused
    args = [*call.args, *call.kwargs.values()]
    tensors = [a for a in args if isinstance(a, Ref) and s.get(a, Tensor) is not None]
    versions = {ref: s[s[ref].storage].version for ref in tensors if s[ref].requires_grad and s.grad}
    setup = attributes.in_class(s, cls, "setup_context")
    ctx = s.new(
        Instance(
            LibraryObject("#ctx"),
            {
                "needs_input_grad": Tup(tuple(_needs(s, a) for a in args)),
                "#class": cls,
                "#inputs": Tup(tuple(args), open=call.unsure),
                "#outputs": Tup((), open=True),
            },
            open=True,
        )
    )
    needed = engine.requires(s, tensors)
    is_unknown = (isinstance(a, Symbol) and a.kind not in ("int", "float", "bool", "str") for a in args)
    if needed is False and (call.unsure or any(is_unknown)):
        needed = None
    before, s.grad = s.grad, False
    given = list(call.args) if setup is not None else [ctx, *call.args]
    out: Outcomes = []
    forward = method_of(s, cls, "forward")
    unsure = call.unsure and not _takes_any_number(s, forward)
    for state, value in m.call(s, forward, given, call.kwargs, call.site, unsure=unsure):
        pairs: Outcomes = [(state, value)]
        if setup is not None and state.exc is None:
            pairs = [
                (st, value)
                for st, _ in m.call(
                    state,
                    method_of(state, cls, "setup_context"),
                    [ctx, Tup(tuple(call.args), open=call.unsure), value],
                    {},
                    call.site,
                )
            ]
        for st, result in pairs:
            st.grad = before
            if st.exc is None:
                m.tell(st, CallbackRan("forward", cls, versions, ctx, value=result))
                out += guard(m, st, _wrap, m, st, cls, ctx, tensors, needed, result, call)
            else:
                out.append((st, NONE))
    return out


def _takes_any_number(s: State, forward: Value) -> bool:
    """Has it an `*args`? Known unsoundness: what is passed there beyond what is known counts as nothing."""
    func = s.get(forward, Func)
    return func is not None and func.function.worked_out(FunctionBody).variadic


def _needs(s: State, value: Value) -> Value:
    tensor = s.get(value, Tensor)
    if tensor is None:
        return FALSE if not isinstance(value, type(unknown())) else unknown("bool")
    return Const(tensor.requires_grad) if tensor.requires_grad is not None else unknown("bool")


def _wrap(
    m: Interpreter,
    s: State,
    cls: Value,
    ctx: Ref,
    tensors: list[Ref],
    needed: bool | None,
    result: Value,
    call: Call,
) -> Value:
    """Give the outputs of a custom Function their history.

    Raises:
        Raised: for a dirty input that is not returned, and dirty views that forbid writes.
    """
    record = s[ctx]
    dirty = [v for v in record.attrs.get("#dirty", Tup(())).items if s.get(v, Tensor) is not None]
    outputs: list[Value] = list(result.items) if isinstance(result, Tup) else [result]
    for ref in dirty:
        if ref not in outputs and not isinstance(result, type(unknown())):
            tensor: Tensor = s[ref]
            marked = record.attrs.get("#dirty_site")
            steps = (
                (
                    story(
                        marked.value,
                        f"`{tensor.name}` is marked dirty here, and not returned",
                        "changed",
                        tensor,
                    ),
                )
                if isinstance(marked, Const)
                else ()
            )
            raise Raised(
                FunctionError(
                    site=call.site,
                    story=steps,
                    text="Some elements marked as dirty during the forward method were not returned "
                    "as output.",
                    kind="dirty-not-returned",
                    function=function_name(s, cls),
                    detail=str(tensor.name),
                )
            )
    if isinstance(result, Ref) and s.get(result, Tensor) is None:
        return result
    if needed:
        result = _opaque_outputs(m, s, cls, result, call)
        given, outputs = outputs, list(result.items) if isinstance(result, Tup) else [result]
        if len(given) == len(outputs):
            _save_as_tensors(s, ctx, dict(zip(given, outputs, strict=True)))
    requires_grad = False if s.grad is False or s.inference else needed if s.grad else None
    node = _function_node(m, s, cls, ctx, tensors, call) if requires_grad is not False else None
    passive = record.attrs.get("#non_differentiable", Tup(())).items
    wrapped = [
        _wrap_output(m, s, out, node, requires_grad if out not in passive else False, tensors, dirty, call)
        for out in outputs
    ]
    if node is not None:
        s.edit(ctx).attrs["#outputs"] = Tup(tuple(outputs), open=isinstance(result, Tup) and result.open)
        _save_outputs(s, record, node, outputs, wrapped, call)
        s.edit(ctx).attrs["#node"] = node
    return Tup(tuple(wrapped)) if isinstance(result, Tup) else wrapped[0]


def _opaque_outputs(m: Interpreter, s: State, cls: Value, result: Value, call: Call) -> Value:
    """What an extension returned as the tensors of the Function: as many as its backward gets gradients."""
    if isinstance(result, Tup):
        items = tuple(
            as_tensor(m, s, item, call.site) or item if _is_opaque(item) else item for item in result.items
        )
        return replace(result, items=items)
    method = method_of(s, cls, "backward")
    backward = s.get(attributes.function_of(s, method.func if isinstance(method, Bound) else method), Func)
    if not _is_opaque(result) or backward is None:
        return result
    incoming = backward.function.params[1 + isinstance(method, Bound) :]
    if not incoming or any(p.kind is not ir.ParamKind.POSITIONAL for p in incoming):
        return result
    if len(incoming) == 1:
        return as_tensor(m, s, result, call.site) or result
    parts = [as_tensor(m, s, Symbol(("item", result, Const(i))), call.site) for i in range(len(incoming))]
    return Tup(tuple(part for part in parts if part is not None))


def _save_as_tensors(s: State, ctx: Ref, outputs: dict[Value, Value]) -> None:
    """What an extension has returned and forward has saved is the tensor that forward returns."""
    saved = s[ctx].attrs.get("#saved")
    if isinstance(saved, Tup) and any(outputs.get(item, item) != item for item in saved.items):
        items = tuple(outputs.get(item, item) for item in saved.items)
        s.edit(ctx).attrs["#saved"] = replace(saved, items=items)


def _is_opaque(value: Value) -> bool:
    return isinstance(value, Symbol) and value.kind is None


def function_name(s: State, cls: Value) -> str:
    record = s.get(cls, Class)
    return record.name if record is not None else "Function"


def _function_node(m: Interpreter, s: State, cls: Value, ctx: Ref, tensors: list[Ref], call: Call) -> Ref:
    node = Node(f"{function_name(s, cls)}Backward", call.text, call.site)
    node.inputs = engine.edges_of(s, tensors)
    # A gradient that is computed without a graph depends on nothing but the one that comes in.
    once = is_once_differentiable(s.get(backward_of(s, cls), Func))
    node.needs = tuple(() for _ in tensors) if once else None
    node.function = ctx
    saved = s[ctx].attrs.get("#saved", Tup(()))
    reads = _reads_saved(s, cls)
    slots = [
        engine.saved(s, value, engine.edge(s, value), "self", call.site, itself=True)
        for value in saved.items
        if isinstance(value, Ref) and s.get(value, Tensor) is not None and reads
    ]
    node.saved_tensors = (*slots, *_kept_on_ctx(s, cls, ctx, call))
    node.frees = bool(slots) if reads is not None else None
    return s.new(node)


def method_of(s: State, cls: Value, name: str) -> Value:
    """A method as PyTorch calls it: with the class first where it is a class method."""
    found = attributes.in_class(s, cls, name) or NONE
    method = attributes.function_of(s, found)
    return Bound(cls, method) if is_class_method(s.get(found, Instance)) else method


def backward_of(s: State, cls: Value) -> Value:
    return attributes.function_of(s, attributes.in_class(s, cls, "backward") or NONE)


@function("torch.autograd.function.once_differentiable")
def once_differentiable(m: Interpreter, s: State, call: Call) -> Result:
    """Marks a backward: it runs under no_grad, whatever create_graph says."""
    func = call.args[0] if call.args else NONE
    if s.get(func, Func) is not None:
        s.edit(func).attrs["#once"] = TRUE  # type: ignore[arg-type]
    return func


def is_once_differentiable(backward: Func | None) -> bool:
    return backward is not None and "#once" in backward.attrs


def _reads_saved(s: State, cls: Value) -> bool | None:
    """Does `backward` read `ctx.saved_tensors`?"""
    names = read_in_backward(s, cls)
    return None if names is None else bool(names & {"saved_tensors", "saved_variables"})


def read_in_backward(s: State, cls: Value) -> set[str] | None:
    """The attributes that `backward` reads of anything; None where there is none in sight."""
    func = s.get(attributes.innermost(s, backward_of(s, cls)), Func)
    if func is None:
        return None
    return {i.name for b in func.function.blocks.values() for i in b.instrs if isinstance(i, ir.GetAttr)}


def _kept_on_ctx(s: State, cls: Value, ctx: Ref, call: Call) -> list[SavedTensor]:
    """The tensors that forward leaves on `ctx` for backward, where no version is asked for."""
    read = read_in_backward(s, cls) or set()
    kept = [
        value for name, value in s[ctx].attrs.items() if name in read and s.get(value, Tensor) is not None
    ]
    return [
        replace(engine.saved(s, ref, engine.edge(s, ref), "self", call.site, itself=True), unchecked="on-ctx")
        for ref in kept
    ]


def _wrap_output(
    m: Interpreter,
    s: State,
    out: Value,
    node: Ref | None,
    requires_grad: bool | None,
    tensors: list[Ref],
    dirty: Sequence[Value],
    call: Call,
) -> Value:
    tensor = s.get(out, Tensor)
    if tensor is None or not isinstance(out, Ref):
        return out
    if out in dirty:
        others = [t for t in tensors if t != out]
        engine.check_write(s, out, others, call.site, call.text)
        engine.rebase(s, out, node, requires_grad)
        return out
    out = engine.function_output(s, out, tensors, call.site, call.text)
    made = s.edit(out)
    if made.dtype in ("int", "bool") or requires_grad is False:
        made.requires_grad, made.leaf, made.grad_fn = False, True, None
        return out
    made.requires_grad, made.leaf, made.grad_fn = requires_grad, (False if requires_grad else None), node
    return out


def _save_outputs(
    s: State, record: Instance, node: Ref, outputs: list[Value], wrapped: list[Value], call: Call
) -> None:
    """Slots that hold this call's own outputs: their history is the node itself."""
    mine = s.edit(node)
    storages = {s[o].storage for o in outputs if s.get(o, Tensor) is not None}  # type: ignore[index]
    mine.saved_tensors = tuple(
        dataclasses.replace(x, edge=node, role="out", holder=None)
        if x.storage in storages and x.edge == NONE
        else x
        for x in mine.saved_tensors
    )


@method("#ctx", "save_for_backward", "save_for_forward")
def save_for_backward(m: Interpreter, s: State, call: Call) -> Result:
    for value in call.args:
        if isinstance(value, Tup) or (isinstance(value, Const) and value != NONE):
            raise Raised(
                FunctionError(
                    site=call.site,
                    text="save_for_backward can only save variables, but argument ... is of type ...",
                    kind="save-non-tensor",
                    function=function_name(s, s[call.self].attrs["#class"]),
                    detail=str(call.text),
                ),
                "TypeError",
            )
    mine = s.edit(call.self)
    mine.attrs["#saved"] = Tup(tuple(call.args), open=call.unsure)
    mine.attrs["#saved_site"] = Const(call.site)
    return NONE


@method("#ctx", "mark_dirty", "mark_non_differentiable", "set_materialize_grads")
def mark(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    key = {"mark_dirty": "#dirty", "mark_non_differentiable": "#non_differentiable"}.get(name, "#materialize")
    given = tuple(adopt(m, s, a, call.site) if isinstance(a, Symbol) else a for a in call.args)
    s.edit(call.self).attrs[key] = Tup(given)
    if key == "#dirty":
        s.edit(call.self).attrs["#dirty_site"] = Const(call.site)
    return NONE


@method("#ctx", ".saved_tensors", ".saved_variables")
def saved_tensors(m: Interpreter, s: State, call: Call) -> Result:
    record = s[call.self]
    saved = record.attrs.get("#saved")
    if saved is None:
        return unknown()
    cls = record.attrs["#class"]
    if attributes.in_class(s, cls, "clear_saved_tensors_on_access") == TRUE:
        if "#read" in record.attrs:
            raise Raised(
                FunctionError(
                    site=call.site,
                    text="saved_tensors can only be accessed once when clear_saved_tensors_on_access=True",
                    kind="cleared-saved",
                    function=function_name(s, cls),
                )
            )
        s.edit(call.self).attrs["#read"] = TRUE
    return saved  # type: ignore[no-any-return]


@method("torch.autograd.Function", "__call__")
def instance_call(m: Interpreter, s: State, call: Call) -> Result:
    name = function_name(s, s[call.self].cls)
    raise Raised(
        FunctionError(
            site=call.site,
            text="Legacy autograd function with non-static forward method is deprecated.",
            kind="instance-call",
            function=name,
        )
    )
