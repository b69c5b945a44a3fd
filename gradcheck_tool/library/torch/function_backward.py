"""The backward of a custom `autograd.Function`, executed as the engine calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.events import FunctionError
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import (
    NONE,
    Bound,
    Ref,
    Tup,
    Value,
)
from gradcheck_tool.engine.errors import story
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.attributes import innermost
from gradcheck_tool.interp.facts import CallbackRan
from gradcheck_tool.library.torch.function_results import Applied, check, takes

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.library.torch.function_application import (
    backward_of,
    function_name,
    is_once_differentiable,
    method_of,
)
from gradcheck_tool.library.torch.tensor_hooks import is_shared_gradient


def run_functions(m: Interpreter, s: State, p: engine.BackwardPass) -> list[State]:
    """Run the `backward` of the custom Functions that the pass reached, and check what they return."""
    states = [s]
    for ref in p.ran:
        ctx = s[ref].function
        if ctx == NONE:
            continue
        after: list[State] = []
        for state in states:
            after += [state] if state.exc is not None else _run_function(m, state, ref, ctx, p)
        # A way that raises is reported where it is followed to the end.
        states = sorted(after, key=lambda state: state.exc is None)[:4]
    return states


def _run_function(m: Interpreter, s: State, ref: Ref, ctx: Ref, p: engine.BackwardPass) -> list[State]:
    cls = s[ctx].attrs["#class"]
    func = s.get(backward_of(s, cls), Func)
    if func is None:
        _missing_backward(m, s, ref, cls, p)
        return [s]
    called = method_of(s, cls, "backward")
    of_class = isinstance(called, Bound)
    inner: Func = s[innermost(s, backward_of(s, cls))]  # type: ignore[index]
    applied = Applied(function_name(s, cls), inner, s[ref].site, p.site, s[ctx].attrs["#inputs"], of_class)
    outputs = _known_outputs(s, ctx)
    if outputs is not None and inner is func and not takes(m, s, applied, len(outputs)):
        return [s]
    before, s.grad = s.grad, p.create is True and not is_once_differentiable(func)
    cotangents = _gradients(s, p, applied, outputs)
    out: list[State] = []
    versions = {c: s[s[c].storage].data for c in cotangents} if is_shared_gradient(s, p, ref) else {}  # type: ignore[index]
    versions = {**versions, **_saved_inputs(s, ctx)}
    m.program.differentiated.add(id(s[cls].node))
    returned = m.call(s, called, [ctx, *cotangents], {}, p.site)
    others = [value for state, value in returned if state.exc is None]
    for state, value in returned:
        state.grad = before
        if state.exc is None:
            check(m, state, applied, value, others)
        m.tell(state, CallbackRan("backward", cls, versions, ctx, s[ref].site, p, value))  # type: ignore[arg-type]
        out.append(state)
    return out


def _saved_inputs(s: State, ctx: Ref) -> dict[Value, Value]:
    """What `apply` was given and forward has saved, with the versions that autograd counts."""
    attrs = s[ctx].attrs
    inputs, saved = attrs.get("#inputs"), attrs.get("#saved")
    if not isinstance(inputs, Tup) or not isinstance(saved, Tup):
        return {}
    given = [each for each in saved.items if each in inputs.items and isinstance(each, Ref)]
    return {each: s[s[each].storage].version for each in given if s.get(each, Tensor) is not None}


def _known_outputs(s: State, ctx: Ref) -> list[Tensor] | None:
    """What forward returned, where all of that is known to be tensors."""
    outputs: Tup = s[ctx].attrs["#outputs"]
    found = [s.get(output, Tensor) for output in outputs.items]
    known = [tensor for tensor in found if tensor is not None]
    return None if outputs.open or len(known) < len(found) else known


def _gradients(
    s: State, p: engine.BackwardPass, applied: Applied, outputs: list[Tensor] | None
) -> list[Value]:
    """The gradients that `backward` gets, one for each output."""
    names = [param.name for param in applied.params[1:]] or ["grad_output"]
    if outputs is None:
        return [engine.new_tensor(s, p.site, name=name) for name in names]
    return [
        engine.new_tensor(s, p.site, shape=like.shape, name=names[min(index, len(names) - 1)])
        for index, like in enumerate(outputs)
    ]


def _missing_backward(m: Interpreter, s: State, ref: Ref, cls: Value, p: engine.BackwardPass) -> None:
    record = s.get(cls, Class)
    if record is None or record.open or attributes.in_class(s, cls, "vjp") is not None:
        return
    made = (story(s[ref].site, f"`{record.name}` is applied here", "called"),)
    text = "You must implement either the backward or vjp method"
    m.raise_exception(
        s,
        "NotImplementedError",
        FunctionError(site=p.site, story=made, text=text, kind="missing-backward", function=record.name),
    )
