"""The dispatch mode of one thread: it sees every operation below autograd, and calls it as it is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import has_torch_function

from gradcheck_tool.sanitizer.below import Below
from gradcheck_tool.sanitizer.infinite import STEEP
from gradcheck_tool.sanitizer.masks import COMPUTING, COPYING, MASKING
from gradcheck_tool.sanitizer.nodes import APPLY, NodeLog, next_number
from gradcheck_tool.sanitizer.sites import site_of
from gradcheck_tool.sanitizer.storages import Area, Write
from gradcheck_tool.sanitizer.unseen import Unseen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from torch import Tensor

    from gradcheck_tool.sanitizer.records import Records

# What an operation writes: positions and names of its arguments.
_Written = tuple[tuple[int, ...], tuple[str, ...]]
_NOTHING: _Written = ((), ())
_COLLECTIVE: _Written = ((), ("",))
"""Of what processes do together: it writes nothing by its schema."""
_written: dict[Any, _Written] = {}
_NO_TENSOR = "Expected a value of type 'Tensor'"
_NUMBERS = (bool, int, float, complex)
_COLLECTIVES = ("c10d", "_c10d_functional")
# Operations on lists that are made of others.
_unversioned: set[Any] = set()


class Dispatch(Below):  # type: ignore[no-untyped-call]
    """Tells where nodes are made, what is written and where a path is cut."""

    def __init__(self, log: NodeLog, records: Records) -> None:
        super().__init__()
        self._log = log
        self._storages = records.storages
        self._steps = records.steps
        self._cuts = records.cuts
        self._updates = records.updates
        self._infinite = records.infinite
        self._functions = records.functions
        self._masks = records.masks
        self._reducing = records.reducing
        self._repeating = records.repeating
        self._recomputing = records.recomputing
        self._sharing = records.hooks.sharing
        self._passes = records.passes
        # Whether the forward of a custom Function runs, as far as is known.
        self._is_inside = False
        # The node of that Function: its forward may turn gradients on, and make others.
        self._applied = log.last
        # The newest node when the last operation was called. What an operation saves of its inputs is logged
        # before it comes here: the log alone does not tell whether it makes a node.
        self._newest = log.last

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        log = self._log
        number = next_number() - 1
        is_new = number != self._newest
        cut = None
        if is_new:
            self._newest = number
            if number != log.last:
                log.made(number, site_of(_maker(sys._getframe(1))))
            site = log.site(number)
            with Unseen():
                self._cuts.node(func, args, site)
                self._updates.node(func, args, site)
        elif self._cuts.watching:
            with Unseen():
                cut = self._cuts.operation(func, args, name_of(func), sys._getframe(1))
        try:
            if has_torch_function(args):  # what the program wanted to see of it, it has seen
                with Unseen():
                    result = self._call(func, args, kwargs)
            else:
                result = self._call(func, args, kwargs)
        except RuntimeError as error:
            if _NO_TENSOR not in str(error) or not any(isinstance(one, _NUMBERS) for one in args):
                raise
            result = func(*_tensors_again(func, args), **(kwargs or {}))
        if cut is not None:
            self._cuts.result(result, cut)
        with Unseen():
            self._in_function(func, args, result, is_new=is_new)
        return result

    def _in_function(self, func: Any, args: tuple[Any, ...], result: Any, *, is_new: bool) -> None:
        """Is an operation one of a custom Function? A pass may run forwards, too, in checkpoints."""
        if not torch.is_grad_enabled() and (is_new or self._is_inside):
            if is_new:
                self._applied = self._newest
            call = self._functions.call(self._applied, sys._getframe(2))
            self._is_inside = call is not None
            if call is not None:
                self._functions.computed(call, name_of(func), args, result)
                return
        if self._passes.current is not None and not self._recomputing.running:
            self._functions.used(args, makes_node=is_new and torch.is_grad_enabled())

    def _call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Call an operation; what it writes is recorded."""
        try:
            written = _written[func]
        except KeyError:
            written = _written[func] = _written_by(func)
        if self._sharing.changed:
            with Unseen():
                self._sharing.reads(name_of(func), args)
        if self._repeating.active:
            return self._repeated(func, args, kwargs, written)
        return self._once(func, args, kwargs, written)

    def _repeated(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, written: _Written
    ) -> Any:
        """Call an operation of a pass that has met changed values."""
        with Unseen():
            again = self._repeating.begins(func, args, kwargs, _tensors(written, args, kwargs))
        result = self._once(func, args, kwargs, written)
        if again is not None:
            with Unseen():
                self._repeating.ended(again, result)
        return result

    def _once(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, written: _Written
    ) -> Any:
        if written is _NOTHING:
            result = func(*args, **kwargs) if kwargs else func(*args)
            if func in STEEP:
                with Unseen():
                    self._infinite.computed(args, result)
            elif func in COMPUTING:
                with Unseen():
                    self._masks.computed(args, result)
            elif func in COPYING:
                with Unseen():
                    self._masks.copied(args, result)
            return result
        if written is _COLLECTIVE:
            with Unseen():
                self._reducing.collective(name_of(func), args)
        changed = _tensors(written, args, kwargs)
        with Unseen():
            self._writes(func, changed)
        if func in _unversioned:
            return _versioned(func, args, kwargs, changed)
        if func not in MASKING:
            return func(*args, **kwargs) if kwargs else func(*args)
        with Unseen():
            masking = self._masks.begins(func, args)
        result = func(*args, **kwargs) if kwargs else func(*args)
        if masking is not None:
            with Unseen():
                masking.ended()
        return result

    def _writes(self, func: Any, changed: list[Tensor]) -> None:
        for tensor in changed:
            self._steps.written(tensor)
            record = self._storages.known(tensor)
            if record is not None:
                site = site_of(sys._getframe(3))
                by, tracked = self._steps.under_way, torch.is_grad_enabled()
                self._storages.written(record, Write(name_of(func), site, by, Area.of(tensor), tracked))


def _maker(frame: FrameType) -> FrameType:
    """What has made a node, as an operation is seen: that, or a `Function` whose forward it is called in.

    Gradients are not recorded in such a forward, and its node is made before.
    """
    if torch.is_grad_enabled():
        return frame
    above: FrameType | None = frame
    while above is not None and above.f_code is not APPLY:
        above = above.f_back
    return frame if above is None else above


def name_of(func: Any) -> str:
    """The name of an operation, without that of the overload."""
    packet = getattr(func, "_overloadpacket", func)
    return str(getattr(packet, "__name__", packet))


def _tensors_again(func: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with tensors where an operation needs some, and PyTorch has given numbers.

    Tensors that it has made of numbers itself it gives to modes as numbers: sums and products take them back,
    other operations do not.
    """
    wanted = (str(argument.type) == "Tensor" for argument in func._schema.arguments)
    with Unseen(), torch._C._DisableTorchDispatch():
        return tuple(
            _of_number(value) if is_tensor and isinstance(value, _NUMBERS) else value
            for is_tensor, value in zip(wanted, args, strict=False)
        )


def _of_number(value: complex) -> Tensor:
    """What PyTorch makes of a number that stands beside tensors."""
    kind = {bool: torch.bool, int: torch.int64, float: torch.float64}.get(type(value), torch.complex128)
    return torch.tensor(value, dtype=kind, device="cpu")


def _versioned(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, changed: list[Tensor]) -> Any:
    """Call an operation that leaves it to those that it is made of to count versions.

    Below a dispatch mode those do not, where they are called at all. Tensors of inference mode have none.
    """
    changed = [tensor for tensor in changed if not tensor.is_inference()]
    before = [tensor._version for tensor in changed]
    result = func(*args, **(kwargs or {}))
    still = [tensor for tensor, version in zip(changed, before, strict=True) if tensor._version == version]
    torch.autograd.graph.increment_version(still)
    return result


def _written_by(func: Any) -> _Written:
    """The arguments that the schema of an operation marks as written."""
    schema = getattr(func, "_schema", None)
    if schema is None:
        return _NOTHING
    if func.namespace in _COLLECTIVES:
        return _COLLECTIVE
    positions, names = [], []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            positions.append(position)
            names.append(argument.name)
    if positions and name_of(func).startswith(("_foreach_", "_amp_foreach_")):
        _unversioned.add(func)
    return (tuple(positions), tuple(names)) if positions else _NOTHING


def _tensors(written: _Written, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> list[Tensor]:
    values = [args[position] for position in written[0] if position < len(args)]
    if kwargs:
        values += [kwargs[name] for name in written[1] if name in kwargs]
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if isinstance(item, torch.Tensor)]
    return found
