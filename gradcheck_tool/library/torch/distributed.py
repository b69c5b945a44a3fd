"""torch.distributed and its wrapper of modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, LibraryObject, Ref
from gradcheck_tool.interp.facts import Written
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.opaque_modules import is_role

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

DDP = "torch.nn.parallel.DistributedDataParallel"
COLLECTIVES = ("all_reduce", "reduce", "broadcast")


def in_no_sync(s: State, wrapper: Ref) -> bool:
    """Is a DistributedDataParallel inside its `no_sync()`, where gradients are not reduced?"""
    return bool(s[wrapper].attrs.get("#no_sync") == TRUE)


@method(DDP, "no_sync")
def no_sync(m: Interpreter, s: State, call: Call) -> Result:
    return s.new(Instance(LibraryObject("#no-sync"), {"#owner": call.self}))


@method("torch.nn.Module", "no_sync")
def no_sync_of_role(m: Interpreter, s: State, call: Call) -> Result:
    """A module of which only the role is known is one that reduces gradients, if it is asked not to."""
    if not is_role(s, call.self):
        return m.call_unknown(s, call)
    m.program.assume(f"`{s[call.self].name}` averages gradients over processes outside of `no_sync()`")
    s.edit(call.self).attrs.setdefault("#no_sync", FALSE)
    return no_sync(m, s, call)


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


@function(*(f"torch.distributed.{name}" for name in COLLECTIVES))
def collective(m: Interpreter, s: State, call: Call) -> Result:
    """Writes its argument unseen by autograd; otherwise nothing is known of it."""
    value = call.get(0, "tensor") or NONE
    if isinstance(value, Ref) and s.get(value, Tensor) is not None:
        name = call.func.name if isinstance(call.func, LibraryObject) else ""
        m.tell(s, Written(value, name.rpartition(".")[2], (), call.site))
    return m.call_unknown(s, call)
