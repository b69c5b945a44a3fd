"""Protocols of frameworks that own backward, step or clearing, as far as tensors and optimizers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.autograd.heap import Instance, State
from gradcheck_tool.autograd.values import FALSE, NONE, Lib, unknown
from gradcheck_tool.interp.natives import Args, Result, function, method
from gradcheck_tool.interp.torchlib.optimizers import apply_step

if TYPE_CHECKING:
    from gradcheck_tool.interp.machine import Machine

SCALERS = ("torch.cuda.amp.GradScaler", "torch.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler")


@function(*SCALERS)
def scaler(m: Machine, s: State, call: Args) -> Result:
    return s.new(Instance(Lib("torch.amp.GradScaler")))


@method("torch.amp.GradScaler", "scale")
def scale(m: Machine, s: State, call: Args) -> Result:
    """A loss times a number: a product of the graph."""
    from gradcheck_tool.autograd.values import Sym, fresh
    from gradcheck_tool.interp.torchlib.functions import call_named

    if not call.args:
        return unknown()
    if isinstance(call.args[0], Sym):
        return call.args[0]
    return call_named(m, s, "operator.*", [call.args[0], Sym(fresh(), "float")], {}, call.site, call.text)


@method("torch.amp.GradScaler", "step")
def scaler_step(m: Machine, s: State, call: Args) -> Result:
    optimizer = call.get(0, "optimizer") or NONE
    if s.get(optimizer, Instance) is not None and "#params" in s[optimizer].attrs:  # type: ignore[index]
        apply_step(m, s, optimizer, call.site, call.text, scaler=s[call.self].name or "scaler")  # type: ignore[arg-type]
        return NONE
    return m.calls.method(s, optimizer, "step", call.args[1:], call.kwargs, call.site)


@method("torch.amp.GradScaler", "unscale_", "update", "get_scale", "is_enabled", "state_dict", "load_state_dict")
def scaler_other(m: Machine, s: State, call: Args) -> Result:
    return unknown("data")


@function("torch.autocast", "torch.cuda.amp.autocast", "torch.amp.autocast", "torch.cpu.amp.autocast", "torch.profiler.record_function", "torch.autograd.profiler.record_function", "torch.autograd.set_detect_anomaly", "torch.autograd.detect_anomaly", "torch.profiler.profile", "torch.autograd.profiler.profile", "torch.cuda.device", "torch.device#with", "torch.random.fork_rng", "torch.backends.cudnn.flags", "torch.nn.attention.sdpa_kernel", "torch.cuda.stream")
def plain_manager(m: Machine, s: State, call: Args) -> Result:
    """Managers that do not change what autograd records."""
    return s.new(Instance(Lib("#plain-manager")))


@method("#plain-manager", "__call__")
def decorate(m: Machine, s: State, call: Args) -> Result:
    return call.args[0] if call.args else unknown()


@function("torch.autograd.graph.saved_tensors_hooks", "torch.autograd.graph.save_on_cpu", "torch.autograd.graph.allow_mutation_on_saved_tensors", "torch.autograd.graph.disable_saved_tensors_hooks")
def saved_hooks(m: Machine, s: State, call: Args) -> Result:
    """What is saved inside is kept by the hooks: nothing is known about its version."""
    return s.new(Instance(Lib("#saved-tensor-hooks")))


@method("#saved-tensor-hooks", "__enter__")
def enter_hooks(m: Machine, s: State, call: Args) -> Result:
    s.saving = False
    return NONE


@method("#saved-tensor-hooks", "__exit__")
def leave_hooks(m: Machine, s: State, call: Args) -> Result:
    s.saving = True
    return FALSE


