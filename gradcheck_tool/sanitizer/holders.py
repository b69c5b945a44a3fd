"""What keeps the graphs of earlier passes: the tensors that lead to them, and the names that hold these."""

from __future__ import annotations

import gc
import inspect
import sys
from collections import deque
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradcheck_tool.sanitizer.memory import node_of, storage_of
from gradcheck_tool.sanitizer.saved import Saved
from gradcheck_tool.sanitizer.sites import is_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gradcheck_tool.sanitizer.nodes import NodeLog

_MOST_TENSORS = 2_000
_MOST_NAMED = 32
_DEEPEST = 3
"""So many containers around a tensor are looked through."""
_CONTAINERS = (list, dict, tuple, set, deque)
COLLECTED, ATTRIBUTE, BUFFER, VARIABLE = "collected", "attribute", "buffer", "variable"


@dataclass(frozen=True, slots=True)
class Holder:
    """A name that holds graphs of earlier passes.

    Attributes:
        name: of the attribute or variable.
        kind: whether it is a container that collects tensors, an attribute, a buffer or a variable.
        owner: the class of the object whose attribute it is; empty for a variable.
        files: where the program may put something there.
        number: the sequence number of the node that a tensor held there comes out of.
    """

    name: str
    kind: str
    owner: str
    files: tuple[str, ...]
    number: int


def holders(leads_there: Callable[[Any], object]) -> list[Holder]:
    """The names that hold tensors whose nodes lead to such graphs."""
    found: dict[tuple[str, str], Holder] = {}
    tensors = [
        one for one in gc.get_objects() if issubclass(type(one), torch.Tensor) and node_of(one) is not None
    ]
    for tensor in tensors[:_MOST_TENSORS]:
        if not leads_there(node_of(tensor)):
            continue
        for holder in _names(tensor, tensor.grad_fn._sequence_nr(), (tensors,)):
            found.setdefault((holder.name, holder.kind), holder)
        if len(found) >= _MOST_NAMED:
            break
    for holder in _variables(tensors, leads_there):
        found.setdefault((holder.name, holder.kind), holder)
    return list(found.values())


def memory_behind(behind: Callable[[Any], set[int]], log: NodeLog | None) -> int:
    """How many bytes the tensors have that lead to such graphs, and what the nodes behind them have saved.

    `behind` gives the numbers of these nodes. Leaves that require grad belong to the program, which keeps
    them anyway.
    """
    sizes: dict[int, int] = {}
    numbers: set[int] = set()
    saved: list[Saved] = []
    for one in gc.get_objects():
        if type(one) is Saved:
            saved.append(one)
        elif issubclass(type(one), torch.Tensor) and node_of(one) is not None:
            found = behind(node_of(one))
            numbers |= found
            if found:
                _weigh(one, sizes)
    for one in saved:
        if one.log is log and one.number in numbers:
            _weigh(one.tensor, sizes)
    return sum(sizes.values())


def _weigh(tensor: torch.Tensor, sizes: dict[int, int]) -> None:
    storage = None if tensor.is_leaf and tensor.requires_grad else storage_of(tensor)
    if storage is not None:
        sizes[storage._cdata] = storage.nbytes()


def _variables(tensors: list[Any], leads_there: Callable[[Any], object]) -> Iterator[Holder]:
    """Local variables of functions that run: no dictionary holds them."""
    known = {id(one) for one in tensors}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_program(frame.f_code.co_filename) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            for name, value in _locals_of(frame).items():
                held = (one for one in _members(value) if id(one) in known)
                nodes = [node for node in map(node_of, held) if leads_there(node)]
                if nodes:
                    kind = COLLECTED if isinstance(value, _CONTAINERS) else VARIABLE
                    yield Holder(name, kind, "", (frame.f_code.co_filename,), nodes[0]._sequence_nr())
        frame = frame.f_back


def _members(value: Any, depth: int = 0) -> Iterator[Any]:
    """What a variable holds, also in containers of containers; the first ones of each."""
    if not isinstance(value, _CONTAINERS):
        yield value
    elif depth < _DEEPEST:
        for one in list(value.values() if isinstance(value, dict) else value)[:_MOST_NAMED]:
            yield from _members(one, depth + 1)


def _locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a function; before Python 3.13 the frame would keep what it is asked for."""
    found = frame.f_locals
    variables = dict(found)
    if type(found) is dict:
        found.clear()
    return variables


def _names(held: Any, number: int, ours: tuple[Any, ...], kind: str = "") -> Iterator[Holder]:
    """What is bound to an object; a container is looked at in its place."""
    for referrer in gc.get_referrers(held):
        if any(referrer is one for one in ours) or referrer is sys._getframe():
            continue
        if type(referrer) is dict and (owned := _owned(referrer)) is not None:
            owner, is_buffers = owned
            for name in _keys(referrer, held):
                yield _of(owner, name, kind or (BUFFER if is_buffers else ATTRIBUTE), number)
        elif isinstance(referrer, _CONTAINERS):
            if len(ours) <= _DEEPEST:
                yield from _names(referrer, number, (*ours, held), COLLECTED)
        elif hasattr(referrer, "__dict__") and not isinstance(referrer, (type, ModuleType, FrameType)):
            for name in _keys(vars(referrer), held):
                yield _of(referrer, name, kind or ATTRIBUTE, number)


def _owned(namespace: dict[Any, Any]) -> tuple[Any, bool] | None:
    """The object or module whose attributes a dictionary has, and whether it has a module's buffers alone."""
    if "__name__" in namespace and "__builtins__" in namespace:
        return sys.modules.get(namespace["__name__"], sys.modules["__main__"]), False
    for owner in gc.get_referrers(namespace):
        own = getattr(owner, "__dict__", None) if not isinstance(owner, (FrameType, *_CONTAINERS)) else None
        if own is namespace:
            return owner, False
        if type(owner) is dict and owner.get("_buffers") is namespace:
            for module in gc.get_referrers(owner):
                if isinstance(module, nn.Module):
                    return module, True
        if isinstance(owner, nn.Module) and owner._buffers is namespace:
            return owner, True
    return None


def _of(owner: Any, name: str, kind: str, number: int) -> Holder:
    if isinstance(owner, ModuleType):
        return Holder(name, VARIABLE if kind == ATTRIBUTE else kind, "", _files([owner]), number)
    modules = (sys.modules.get(base.__module__) for base in type(owner).__mro__)
    return Holder(name, kind, type(owner).__name__, _files(modules), number)


def _files(modules: Iterable[Any]) -> tuple[str, ...]:
    names = (getattr(module, "__file__", None) for module in modules)
    return tuple(dict.fromkeys(name for name in names if name and is_program(name)))


def _keys(namespace: Any, held: Any) -> list[str]:
    return [name for name, value in list(namespace.items()) if value is held and isinstance(name, str)]
