"""Automatic mixed precision: `GradScaler`, and managers that change nothing that autograd records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import ScalerError
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Symbol,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp.conditions import known as decided
from gradcheck_tool.interp.mending import is_mended
from gradcheck_tool.interp.places import owner_text, receiver_text
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.optimizers import apply_step, params_of
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref
    from gradcheck_tool.interp.api import Call, Interpreter

# An attribute of a GradScaler: has it scaled a loss, and neither a step nor `unscale_` followed?
CARRIED = "#carried"
# An attribute of a GradScaler: what it scales the first loss with.
FIRST_SCALE = "#first-scale"
# A test of whether precision is mixed: what follows the `else` of an expression, or the colon, is not tested.
_TESTED = re.compile(
    r"\b(?:if|elif|not|assert|while)\b(?:(?!\belse\b)[^\n:])*(?:amp|fp16|half|mixed|scaler|precision)"
)
SCALERS = ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")


@function(*SCALERS)
def scaler(m: Interpreter, s: State, call: Call) -> Result:
    on = call.flag(-1, "enabled", True)
    given = call.get(-1, "enabled")
    depends = given if on is None and isinstance(given, Symbol) else unknown("bool")
    start = unknown("float") if call.args or call.unsure else call.kwargs.get("init_scale", Const(65536.0))
    attrs = {"#on": Const(on) if on is not None else depends, FIRST_SCALE: start}
    return s.new(Instance(LibraryObject("torch.amp.GradScaler"), attrs))


def _is_on(s: State, scaler: Ref) -> bool | None:
    """Does a scaler scale? Of an object of a subclass that is not known."""
    return decided(s, s[scaler].attrs.get("#on", unknown()))


@method("torch.amp.GradScaler", "scale")
def scale(m: Interpreter, s: State, call: Call) -> Result:
    """A loss times a number: a product of the graph."""
    from gradcheck_tool.library.torch.functions import call_named

    s.edit(call.self).attrs["#scaled"] = TRUE
    s.edit(call.self).attrs[CARRIED] = Const(_is_on(s, call.self) is not False)
    if not call.args:
        return unknown()
    loss = as_tensor(m, s, call.args[0], call.site) or call.args[0]
    if isinstance(loss, Symbol):
        return loss
    out = call_named(m, s, "operator.*", [loss, Symbol(fresh(), "float")], {}, call.site, call.text)
    on = _is_on(s, call.self)
    if on is None and _is_used_alike(call):
        on = True
        m.program.assume(f"`{receiver_text(call.site, 'scaler')}` is enabled")
    if on and not s[call.self].open:
        s.memory[Symbol(("scaled", out))] = TRUE
    return out


def _is_used_alike(call: Call) -> bool:
    """Does the code go the same way whether a scaler is enabled or not, and never take the scale off?"""
    source = call.site.module.source
    return "unscale_" not in source and _TESTED.search(source) is None


def forget_scaling(s: State) -> None:
    """Other code may have scaled losses with the scalers that are at hand."""
    for ref, record in s.records(Instance):
        if record.cls == LibraryObject("torch.amp.GradScaler"):
            s.edit(ref).attrs["#scaled"] = TRUE


@method("torch.amp.GradScaler", "step")
def scaler_step(m: Interpreter, s: State, call: Call) -> Result:
    optimizer = call.get(0, "optimizer") or NONE
    s.edit(call.self).attrs[CARRIED] = FALSE
    _check(m, s, call, optimizer, "step")
    if s.get(optimizer, Instance) is not None and "#params" in s[optimizer].attrs:  # type: ignore[index]
        apply_step(m, s, optimizer, call.site, call.text, scaler=receiver_text(call.site, "scaler"))  # type: ignore[arg-type]
        return NONE
    return m.call_method(s, optimizer, "step", call.args[1:], call.kwargs, call.site)


@method("torch.amp.GradScaler", "unscale_")
def unscale(m: Interpreter, s: State, call: Call) -> Result:
    """Takes the scale off the gradients of an optimizer's parameters."""
    optimizer = call.get(0, "optimizer") or NONE
    s.edit(call.self).attrs[CARRIED] = FALSE
    _check(m, s, call, optimizer, "unscale_")
    for ref in _may_hold(s, optimizer):
        if s[ref].grad_state == "scaled":
            s.edit(ref).grad_state = "fresh"
    return NONE


def _may_hold(s: State, optimizer: Value) -> list[Ref]:
    """The parameters of an optimizer; any tensor where it is not known which it has."""
    is_known = s.get(optimizer, Instance) is not None
    params, is_open = params_of(s, optimizer) if is_known else ([], True)  # type: ignore[arg-type]
    return [ref for ref, _ in s.records(Tensor)] if is_open else params


@method("torch.amp.GradScaler", "update")
def update(m: Interpreter, s: State, call: Call) -> Result:
    """Begins a new iteration for every optimizer."""
    _check(m, s, call, NONE, "update")
    for ref, record in s.records(Instance):
        if STAGE in record.attrs:
            del s.edit(ref).attrs[STAGE]
    return NONE


def _check(m: Interpreter, s: State, call: Call, optimizer: Value, name: str) -> None:
    """Follow the protocol of one optimizer between two updates.

    Raises:
        Raised: where the scaler does.
    """
    record: Instance = s[call.self]
    known = s.get(optimizer, Instance)
    if not _is_on(s, call.self) or record.open:
        return
    if "#scaled" not in record.attrs and name != "unscale_":
        text = f"Attempted {name} but _scale is None."
        if is_mended(m, call.site):
            s.edit(call.self).attrs["#scaled"] = TRUE
        raise Raised(_refusal(call, name, optimizer, known, "never-scaled", text), "AssertionError")
    if known is None or name == "update":
        return
    refused = _REFUSED.get((known.attrs.get(STAGE, NONE), name))
    if refused is not None:
        kind, text = refused
        raise Raised(_refusal(call, name, optimizer, known, kind, text))
    s.edit(optimizer).attrs[STAGE] = Const(name)  # type: ignore[arg-type]


def _refusal(
    call: Call, method: str, optimizer: Value, known: Instance | None, kind: str, text: str
) -> ScalerError:
    owner = owner_text(call.site) if known is not None else ""
    name = receiver_text(call.site, "scaler")
    return ScalerError(site=call.site, text=text, kind=kind, scaler=name, method=method, optimizer=owner)


STAGE = "#scaler-stage"
_REFUSED: dict[tuple[Value, str], tuple[str, str]] = {
    (Const("unscale_"), "unscale_"): (
        "unscale-twice",
        "unscale_() has already been called on this optimizer since the last update().",
    ),
    (Const("step"), "unscale_"): ("unscale-after-step", "unscale_() is being called after step()."),
    (Const("step"), "step"): ("step-twice", "step() has already been called since the last update()."),
}


@method("torch.amp.GradScaler", "load_state_dict")
def restore(m: Interpreter, s: State, call: Call) -> Result:
    """Sets how large the scale is to be: which losses were scaled and what has stepped stays as it is."""
    s.edit(call.self).attrs[FIRST_SCALE] = unknown("float")
    return NONE


@method("torch.amp.GradScaler", "get_scale")
def get_scale(m: Interpreter, s: State, call: Call) -> Result:
    """The scale is what it was made with until a loss has been scaled."""
    record: Instance = s[call.self]
    is_first = "#scaled" not in record.attrs and not record.open and _is_on(s, call.self) is True
    return record.attrs.get(FIRST_SCALE, unknown("data")) if is_first else unknown("data")


@method("torch.amp.GradScaler", "is_enabled", "state_dict")
def scaler_other(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")


@function(
    "torch.autocast",
    "torch.cuda.amp.autocast",
    "torch.amp.autocast",
    "torch.cpu.amp.autocast",
    "torch.profiler.record_function",
    "torch.autograd.profiler.record_function",
    "torch.autograd.set_detect_anomaly",
    "torch.autograd.detect_anomaly",
    "torch.profiler.profile",
    "torch.autograd.profiler.profile",
    "torch.cuda.device",
    "torch.device#with",
    "torch.random.fork_rng",
    "torch.backends.cudnn.flags",
    "torch.nn.attention.sdpa_kernel",
    "torch.cuda.stream",
    "torch.autograd.graph.disable_saved_tensors_hooks",
)
def plain_manager(m: Interpreter, s: State, call: Call) -> Result:
    """Managers that do not change what autograd records."""
    return s.new(Instance(LibraryObject("#plain-manager")))


@method("#plain-manager", "__call__")
def decorate(m: Interpreter, s: State, call: Call) -> Result:
    return call.args[0] if call.args else unknown()
