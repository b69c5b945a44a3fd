"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`, as managers and decorators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    Bound,
    Const,
    LibraryObject,
    Partial,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import conditions
from gradcheck_tool.interp.facts import GradModeSwitched
from gradcheck_tool.interp.functions import managed
from gradcheck_tool.interp.registry import MANAGERS, Result, function, lib_name, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

CLASSES = ("torch.no_grad", "torch.enable_grad", "torch.inference_mode")
MANAGERS.update(CLASSES)


def _decorated(s: State, manager: Value, target: Value) -> Value | None:
    """A function, method or partial call that runs inside the manager, if the target is one of these."""
    if isinstance(target, (Bound, Partial)):
        inner = _decorated(s, manager, target.func)
        return replace(target, func=inner) if inner is not None else None
    func = s.get(target, Func)
    return s.new(managed(func, manager)) if func is not None else None


@function(*CLASSES)
def manager(m: Interpreter, s: State, call: Call) -> Result:
    name = lib_name(call.func)
    made = Instance(LibraryObject(name), {"#on": Const(True)})
    made.site = call.site
    if call.args and (s.get(call.args[0], Func) or s.get(call.args[0], Class)):
        ref = s.new(made)
        return _decorated(s, ref, call.args[0]) or call.args[0]
    if call.args and name == "torch.inference_mode":
        on = conditions.known(s, call.args[0])
        made.attrs["#on"] = Const(on) if on is not None else unknown("bool")
    if "mode" in call.kwargs:
        on = conditions.known(s, call.kwargs["mode"])
        made.attrs["#on"] = Const(on) if on is not None else unknown("bool")
    return s.new(made)


@function("torch.set_grad_enabled")
def set_grad_enabled(m: Interpreter, s: State, call: Call) -> Result:
    """Takes effect at the call; as a context manager it also restores what was before."""
    value = call.get(0, "mode")
    out: list[tuple[State, Value]] = []
    for state, on in m.decide(s, value if value is not None else unknown("bool")):
        before = Tup((Const(state.grad), Const(state.inference)))
        ref = state.new(Instance(call.func, {"#on": Const(on), "#before": before}))
        if state.grad is not False and not on:
            state.off = (call.site, state.frames[-1])
        state.grad = on
        m.tell(state, GradModeSwitched(on, call.site))
        out.append((state, ref))
    return out


@method("torch.no_grad", "__enter__")
def enter(m: Interpreter, s: State, call: Call) -> Result:
    """Entered again, a manager forgets what was before it; `set_grad_enabled` knows what it found."""
    record = s.edit(call.self)
    name = lib_name(record.cls)
    if name != "torch.set_grad_enabled" or "#before" not in record.attrs:
        record.attrs["#before"] = Tup((Const(s.grad), Const(s.inference)))
    on = record.attrs.get("#on", Const(True))
    if s.grad is not False and record.site is not None:
        s.off = (record.site, s.frames[-1])
    if name == "torch.no_grad":
        s.grad = False
    elif name == "torch.enable_grad":
        s.grad = True
    elif name == "torch.set_grad_enabled":
        s.grad = on.value if isinstance(on, Const) else None
    elif name == "torch.inference_mode":
        if on == Const(True):
            s.grad, s.inference = False, True
        elif on == FALSE:
            s.grad, s.inference = (True if s.inference else s.grad), False
        else:
            s.grad = None
    m.tell(s, GradModeSwitched(s.grad, record.site))
    return NONE


@method("torch.no_grad", "__exit__")
def leave(m: Interpreter, s: State, call: Call) -> Result:
    before = s[call.self].attrs.get("#before")
    if isinstance(before, Tup):
        s.grad, s.inference = (item.value for item in before.items)  # type: ignore[union-attr]
    return FALSE


@method("torch.no_grad", "__call__")
def decorate(m: Interpreter, s: State, call: Call) -> Result:
    if not call.args:
        return unknown()
    # `set_grad_enabled(...)` has taken effect when it was made; as a decorator it takes that back.
    before = s.edit(call.self).attrs.pop("#before", None)
    if isinstance(before, Tup):
        s.grad = before.items[0].value  # type: ignore[union-attr]
    return _decorated(s, call.self, call.args[0]) or call.args[0]


@function("torch.jit.is_scripting")
def is_scripting(m: Interpreter, s: State, call: Call) -> Result:
    """What autograd sees is run by Python."""
    return FALSE


@function("torch.is_grad_enabled")
def is_grad_enabled(m: Interpreter, s: State, call: Call) -> Result:
    return Const(s.grad) if s.grad is not None else unknown("bool")


@function("torch.is_inference_mode_enabled")
def is_inference(m: Interpreter, s: State, call: Call) -> Result:
    return Const(s.inference)
