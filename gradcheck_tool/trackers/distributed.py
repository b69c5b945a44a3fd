"""Protocols of torch.distributed and its wrapper, judged when a backward reaches what they touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import DistributedMisuse
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, LibraryObject, Ref, Tup, Value
from gradcheck_tool.interp.registry import Result, function, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Call, Interpreter

DDP = "torch.nn.parallel.DistributedDataParallel"


@dataclass(slots=True)
class Watch:
    """Graph nodes to look out for in backwards: what is then wrong, or whose forward made them."""

    wrong: dict[int, DistributedMisuse] = field(default_factory=dict)
    forwards: dict[int, Ref] = field(default_factory=dict)


def note_pass(m: Interpreter, s: State, p: BackwardPass) -> None:
    """Report what a backward has reached."""
    for ref in p.ran:
        event = m.watch.wrong.pop(ref.id, None)
        if event is not None:
            m.emit(event)
        owner = s.get(m.watch.forwards.get(ref.id), Instance)
        if owner is not None and owner.attrs.get("#no_sync") == TRUE:
            subject = str(owner.name or "the model")
            m.emit(DistributedMisuse(site=p.site, kind="no-sync-backward", call=str(p.text), subject=subject))


def note_wrapped(m: Interpreter, s: State, ref: Ref, value: Value) -> None:
    """A DistributedDataParallel has been called; only forwards outside of no_sync() are remembered."""
    if s[ref].cls == LibraryObject(DDP) and s[ref].attrs.get("#no_sync") != TRUE:
        m.watch.forwards.update(dict.fromkeys(_nodes(s, value), ref))


def note_inner(m: Interpreter, s: State, ref: Ref, call: Call, value: Value) -> None:
    """A module has been called as `wrapper.module(...)`."""
    from gradcheck_tool.ir import syntax

    func = getattr(call.site.node, "func", None)
    if not isinstance(func, syntax.Attribute) or func.attr.value != "module" or s.grad is not True:
        return
    for _, record in s.records(Instance):
        if record.cls == LibraryObject(DDP) and record.attrs.get("module") == ref:
            subject = str(record.name or "the wrapper")
            event = DistributedMisuse(
                site=call.site, kind="inner-module", call=str(call.text), subject=subject
            )
            m.watch.wrong.update(dict.fromkeys(_nodes(s, value), event))


def _nodes(s: State, value: Value) -> list[int]:
    found = []
    for item in value.items if isinstance(value, Tup) else (value,):
        tensor = s.get(item, Tensor)
        if tensor is not None and tensor.requires_grad and tensor.grad_fn is not None:
            found.append(tensor.grad_fn.id)
    return found


@method(DDP, "no_sync")
def no_sync(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("#no-sync"), {"#owner": call.self}))


@method(DDP, "register_comm_hook")
def comm_hook(m: Interpreter, s: State, call: Call) -> Result:
    """Runs when gradients are reduced, and sees buffers only."""
    return NONE


@method("#no-sync", "__enter__")
def enter(m: Interpreter, s: State, call: Call) -> Result:
    s.edit(s[call.self].attrs["#owner"]).attrs["#no_sync"] = TRUE
    return NONE


@method("#no-sync", "__exit__")
def leave(m: Interpreter, s: State, call: Call) -> Result:
    s.edit(s[call.self].attrs["#owner"]).attrs["#no_sync"] = FALSE
    return FALSE


@function("torch.distributed.all_reduce", "torch.distributed.reduce", "torch.distributed.broadcast")
def collective(m: Interpreter, s: State, call: Call) -> Result:
    """Writes its argument unseen by autograd; otherwise nothing is known of it."""
    value = call.get(0, "tensor") or NONE
    if s.grad is True:
        subject = str(s[value].name) if isinstance(value, Ref) and s.get(value, Tensor) is not None else ""
        event = DistributedMisuse(
            site=call.site, kind="inplace-collective", call=str(call.text), subject=subject
        )
        m.watch.wrong.update(dict.fromkeys(_nodes(s, value), event))
    return m.call_unknown(s, call)
