"""Custom Functions: what their forwards compute without a graph, and what their backwards make of it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.sanitizer.memory import storage_key, tensors_in
from gradcheck_tool.sanitizer.nodes import APPLY
from gradcheck_tool.sanitizer.sites import here, site_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from gradcheck_tool.sanitizer.passes import Passes
    from gradcheck_tool.sanitizer.sites import Site

_REMEMBERED = 1 << 14
"""So many calls are remembered."""
_FLAT = ("sign", "round", "floor", "ceil", "trunc", "heaviside", "bernoulli", "new_")
"""What has no derivative, by the beginning of its name; so has what takes the shape alone (`zeros_like`)."""
_COPIES = ("clone", "_to_copy", "contiguous")
_node: Any = torch._C._current_autograd_node


@dataclass(slots=True, eq=False)
class Call:
    """One call of a Function that has a node.

    Attributes:
        function: its class.
        number: the number of its node.
        site: where the program applies it.
        numbers: the numbers that it is given, by the names of its arguments.
        repeats: whether a pass calls it: a checkpoint calls it once more, for nodes of the first call.
        passes_on: whether its forward has computed nothing: there are views and copies of what it is given.
    """

    function: type[Any]
    number: int
    site: Site | None
    repeats: bool
    numbers: dict[str, float] = field(default_factory=dict)
    passes_on: bool = True


@dataclass(slots=True, eq=False)
class Inside:
    """A tensor that calls of Functions are given, or compute of what has a gradient.

    Attributes:
        tensor: the tensor, which may be gone.
        calls: the calls, each with the place that computes it; None for what they are given.
        varies: whether it has a gradient, or depends on what has one.
    """

    tensor: weakref.ref[Tensor]
    calls: dict[Call, Site | None] = field(default_factory=dict)
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """A backward uses what a forward has left.

    Attributes:
        function: the class of the Function.
        name: the attribute that leads there, such as `ctx.gate`; empty where none is known.
        made: where the forward has computed it; None where it was given.
        used: where the backward uses it.
    """

    function: type[Any]
    name: str
    made: Site | None
    used: Site


@dataclass(slots=True)
class Unread:
    """A number that calls are given and keep on `ctx`: the values that it had in backwards."""

    values: set[float] = field(default_factory=set)
    site: Site | None = None
    times: int = 0


@dataclass(slots=True)
class Functions:
    """The custom Functions of a process.

    Attributes:
        constants: uses of the call's own values in a backward that has a graph, where they have none.
        others: uses of what another call of the same Function has left.
        numbers: the numbers that calls without effect on values keep, by Function and attribute.
    """

    passes: Passes
    constants: dict[Use, int] = field(default_factory=dict)
    others: dict[Use, int] = field(default_factory=dict)
    numbers: dict[tuple[type[Any], str], Unread] = field(default_factory=dict)
    _inside: dict[int, Inside] = field(default_factory=dict)
    _calls: dict[int, Call] = field(default_factory=dict)

    def call(self, number: int, frame: FrameType | None) -> Call | None:
        """The call of one of the program's Functions whose forward runs here: the newest node is its own."""
        while frame is not None and frame.f_code is not APPLY:
            frame = frame.f_back
        if frame is None:
            return None
        function = frame.f_locals.get("cls")
        if not isinstance(function, type) or function.__module__.startswith("torch."):
            return None
        known = self._calls.get(number)
        if known is None or known.function is not function:
            repeats = self.passes.current is not None
            known = self._calls[number] = Call(function, number, site_of(frame.f_back), repeats)
            if len(self._calls) > _REMEMBERED:
                del self._calls[next(iter(self._calls))]
            args = frame.f_locals.get("args", ())
            known.numbers.update(_numbers(function, args))
            for tensor in tensors_in(args):
                self._know(tensor, known, None, varies=tensor.requires_grad)
        return known

    def last_of(self, name: str) -> Call | None:
        """The last known call of a Function of this name."""
        return next((one for one in reversed(self._calls.values()) if one.function.__name__ == name), None)

    @property
    def has_inside(self) -> bool:
        """Is there anything that a call has computed or was given?"""
        return bool(self._inside)

    def made_in(self, tensor: Tensor) -> Call | None:
        """The call that has computed a tensor without a gradient of what has one."""
        known = None if tensor.requires_grad else self._inside.get(storage_key(tensor))
        if known is None or known.tensor() is None or not known.varies:
            return None
        return next((call for call, made in reversed(known.calls.items()) if made is not None), None)

    def computed(self, call: Call, name: str, args: Sequence[Any], result: Any) -> None:
        """A forward has computed something."""
        given = list(tensors_in(args))
        for tensor in given:
            if tensor.requires_grad:
                self._know(tensor, call, None, varies=True)
        storages = {storage_key(tensor) for tensor in given}
        depends = any(self._is_inside(tensor, call) for tensor in given)
        is_flat = name.startswith(_FLAT) or name.endswith("_like")
        call.passes_on = call.passes_on and not name.endswith("_")
        for tensor in tensors_in(result if isinstance(result, (tuple, list)) else (result,)):
            if storage_key(tensor) in storages:
                continue
            call.passes_on = call.passes_on and name in _COPIES
            if depends and not is_flat and tensor.is_floating_point():
                self._know(tensor, call, here(), varies=True)

    def used(self, args: Sequence[Any], makes_node: bool) -> None:
        """An operation of a pass uses something."""
        node = _node()
        function = getattr(node, "_forward_cls", None)
        if function is None or not self._calls:
            return
        call = self._calls.get(node._sequence_nr())
        if call is None or call.function is not function:
            return
        if call.numbers and call.passes_on:
            self._unread(node, call)
        for tensor in tensors_in(args):
            inside = self._inside.get(storage_key(tensor))
            if inside is None or inside.tensor() is None:
                continue
            made = inside.calls.get(call)
            if call not in inside.calls:
                other = next((one for one in inside.calls if one.function is function), None)
                if other is not None and inside.varies and not (other.repeats and not _name(node, tensor)):
                    self._use(self.others, node, tensor, inside.calls[other])
            elif makes_node and made is not None and not tensor.requires_grad:
                self._use(self.constants, node, tensor, made)

    def _unread(self, node: Any, call: Call) -> None:
        for name, value in vars(node).items():
            if isinstance(value, (int, float)) and any(value is one for one in call.numbers.values()):
                known = self.numbers.setdefault((call.function, name), Unread())
                known.values.add(value)
                known.site = call.site
                known.times += 1
        call.numbers.clear()

    def _use(self, uses: dict[Use, int], node: Any, tensor: Tensor, made: Site | None) -> None:
        used = here()
        if used is not None:
            use = Use(node._forward_cls, _name(node, tensor), made, used)
            uses[use] = uses.get(use, 0) + 1

    def _know(self, tensor: Tensor, call: Call, made: Site | None, *, varies: bool) -> None:
        key = storage_key(tensor)
        known = self._inside.get(key)
        if known is None or known.tensor() is None:
            known = Inside(weakref.ref(tensor, lambda gone: self._forget(key, gone)))
            if key:
                self._inside[key] = known
        known.calls.setdefault(call, made)
        known.varies = known.varies or varies

    def _forget(self, key: int, gone: weakref.ref[Tensor]) -> None:
        known = self._inside.get(key)
        if known is not None and known.tensor is gone:
            del self._inside[key]

    def _is_inside(self, tensor: Tensor, call: Call) -> bool:
        known = self._inside.get(storage_key(tensor))
        return known is not None and known.tensor() is not None and known.varies and call in known.calls


def _name(node: Any, tensor: Tensor) -> str:
    """The attribute of `ctx` or of the class that a tensor is kept by."""
    for owner, names in (("ctx", vars(node)), (node._forward_cls.__name__, vars(node._forward_cls))):
        for name, value in names.items():
            if value is tensor:
                return f"{owner}.{name}"
    return ""


def _numbers(function: type[Any], args: Sequence[Any]) -> Iterator[tuple[str, float]]:
    """The numbers among the arguments of a forward."""
    code = getattr(getattr(function, "forward", None), "__code__", None)
    if code is None:
        return
    names = code.co_varnames[: code.co_argcount]
    for name, value in zip(names[len(names) - len(args) :], args, strict=False):
        if isinstance(value, float):
            yield name, value
