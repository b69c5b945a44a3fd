"""Classes whose base is out of sight and that show themselves to be modules.

`class Convolution(MessagePassing)` with a `forward` that takes something is a module in a file that uses
PyTorch; what has a `training_step` and configures its optimizers is one that Lightning trains. Such a class
gets what that base has, and stays open for what its own base adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Class, Frame, Func, Instance
from gradcheck_tool.domain.values import TRUE, LibraryObject, Ref, Symbol, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.packs import resolved

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

MODULE = LibraryObject("torch.nn.Module")
# What Lightning trains, by the two methods that it asks for.
LIGHTNING = LibraryObject("lightning.pytorch.LightningModule")
_OF_LIGHTNING = frozenset({"training_step", "configure_optimizers"})
# Under this name a class says that it was taken for one of modules.
SHOWN = "#shown-module"
# What has one of these computes its gradients itself, is called otherwise or trains.
_OTHERS = frozenset({"__call__", "backward", "optimize_parameters", "fit", "train_step"})
_TRAINS = frozenset({"backward", "step", "zero_grad"})


def show(m: Interpreter, s: State, cls: Ref, site: Any) -> None:
    """Let a class derive from what it shows to be its base, too: `nn.Module` or Lightning's module."""
    record: Class = s[cls]
    if not record.open or any(_is_of_torch(base) for base in record.mro):
        return
    if record.attrs.keys() >= _OF_LIGHTNING:
        base = s.get(resolved(m, s, LIGHTNING, site), Class)
        shown = (MODULE,) if base is None else base.mro
    elif _is_layer(s, record):
        shown = (MODULE,)
    else:
        return
    mine: Class = s.edit(cls)
    mine.mro = (*record.mro, *shown)
    mine.attrs[SHOWN] = TRUE


def shown_as(s: State, cls: Value | None) -> str:
    """In words that a class was only taken for one of modules; empty for any other."""
    record = s.get(cls, Class)
    if cls is None or record is None or attributes.in_class(s, cls, SHOWN) is None:
        return ""
    return f"`{record.name}` is a module"


def assume_shown(m: Interpreter, s: State, record: Instance) -> None:
    """Say that a module is one only by what its class shows."""
    assumed = shown_as(s, record.cls)
    if assumed:
        m.program.assume(assumed)


def _is_of_torch(base: Value) -> bool:
    return isinstance(base, LibraryObject) and base.name.startswith("torch.")


def _is_layer(s: State, record: Class) -> bool:
    """Has it a `forward` that takes something, in a file that uses PyTorch?"""
    forward = s.get(record.attrs.get("forward"), Func)
    if forward is None or len(forward.function.params) < 2 or _OTHERS & record.attrs.keys():
        return False
    methods = [func.function for value in record.attrs.values() if (func := s.get(value, Func)) is not None]
    read = {name for method in methods for name in method.attributes_read()}
    frame = s.get(record.env.globals, Frame)
    return not _TRAINS & read and frame is not None and any(map(_is_torch, frame.locals.values()))


def _is_torch(value: Value) -> bool:
    """Is it what an import of PyTorch, or from it, has bound?"""
    if isinstance(value, Symbol) and value.kind == "import" and isinstance(value.key, tuple):
        return str(value.key[2]).split(".")[0] == "torch"
    return isinstance(value, LibraryObject) and value.name.split(".")[0] == "torch"
