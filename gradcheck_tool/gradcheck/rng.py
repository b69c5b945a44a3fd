"""Random state as an argument: every evaluation of a Function starts from the same one."""

from __future__ import annotations

import functools
import random
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _numpy() -> Any:
    """Numpy if the program under check has loaded it; a Function that never did cannot draw from it."""
    return sys.modules.get("numpy")


def _in_use() -> tuple[Any, ...]:
    """The modules of devices with generators of their own that this process uses.

    To ask a device that it does not use yet for its state would start it, and then no process can be forked.
    """
    return tuple(module for module in (torch.cuda, torch.xpu) if module.is_initialized())


@functools.cache
def _always_in_use() -> bool:
    """Whether there is a device that needs no start."""
    return bool(torch.backends.mps.is_available())


def seed_torch(number: int) -> None:
    """`torch.manual_seed`; without a device in use, only what it does to the CPU's generator.

    For a device that is not in use yet it records the stack of every call, which costs a hundred times more.
    """
    if _in_use() or _always_in_use():
        torch.manual_seed(number)
    else:
        torch.default_generator.manual_seed(number)


class RandomState:
    """All random generators a Function can reach, set to a known state before each evaluation.

    `owners` are objects (the Function's class, its globals, its arguments) whose private generators are
    captured too: a Function that draws from its own `torch.Generator` is then a function of its inputs.
    """

    def __init__(self, generators: list[Any]) -> None:
        self._restore = [restore for item in generators if (restore := _restorer(item)) is not None]
        self._uses: bool | None = None
        self.first = 0
        """The number of the state that evaluations start from."""

    def seed(self, number: int | None = None, *, force: bool = False) -> None:
        """Put every generator into the state of `number`, `first` by default; skipped when nothing draws."""
        number = self.first if number is None else number
        for restore in self._restore:
            restore(number)
        if self._uses is False and not force:
            return
        seed_torch(number)
        random.seed(number)
        numpy = _numpy()
        if numpy is not None:
            numpy.random.seed(number)

    @contextmanager
    def starting_from(self, number: int) -> Iterator[None]:
        """Let evaluations start from another state."""
        self.first = number
        try:
            yield
        finally:
            self.first = 0

    @property
    def draws(self) -> bool:
        """Whether the Function was seen to draw, or reaches a generator of its own."""
        return bool(self._uses) or bool(self._restore)

    def observe(self, call: Callable[[], Any], number: int) -> Any:
        """Run `call` from the state that belongs to `number`, and learn whether it draws."""
        self.seed(number, force=True)
        numpy, devices = _numpy(), _in_use()
        result = call()
        started = numpy is not _numpy() or devices != _in_use()
        self._uses = self._uses or started or _next_numbers() != _first_numbers(number, numpy, devices)
        return result


def _next_numbers() -> tuple[Any, ...]:
    """What each generator of the CPU draws next, cheaper than its state, and the states of devices."""
    numpy = _numpy()
    next_ones = (torch.rand((), dtype=torch.float64).item(), random.random())  # noqa: S311
    states = [tuple(state.tolist()) for module in _in_use() for state in module.get_rng_state_all()]
    return (*next_ones, *states) if numpy is None else (*next_ones, numpy.random.random(), *states)


@functools.cache
def _first_numbers(number: int, numpy: Any, devices: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `_next_numbers` are in the state that belongs to `number`."""
    del numpy, devices
    RandomState([]).seed(number, force=True)
    return _next_numbers()


class _Sampling(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notices operators that draw random numbers, also those whose draws are undone afterwards."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        self.seen = self.seen or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def samples_inside(call: Callable[[], Any]) -> bool:
    """Whether `call` runs an operator that draws random numbers."""
    mode = _Sampling()  # type: ignore[no-untyped-call]
    with mode:
        call()
    return bool(mode.seen)


def _restorer(item: Any) -> Callable[[int], None] | None:
    """A function that puts a private generator back to its first state (moved on by `number`)."""
    if isinstance(item, torch.Generator):
        state = item.get_state()
        return lambda number: _reset_torch(item, state, number)
    if isinstance(item, random.Random):
        kept = item.getstate()
        return lambda number: item.setstate(kept) if number == 0 else item.seed(number)
    numpy = _numpy()
    if numpy is not None and isinstance(item, numpy.random.RandomState):
        old = item.get_state()
        return lambda number: item.set_state(old) if number == 0 else item.seed(number)
    if numpy is not None and isinstance(item, numpy.random.Generator):
        bits = item.bit_generator.state
        return lambda number: _reset_numpy(item, bits, number)
    return None


def _reset_torch(generator: torch.Generator, state: torch.Tensor, number: int) -> None:
    if number == 0:
        generator.set_state(state)
    else:
        generator.manual_seed(number)


def _reset_numpy(generator: Any, state: Any, number: int) -> None:
    generator.bit_generator.state = state
    if number:
        generator.random(number % 97 + 1)


@contextmanager
def preserved() -> Iterator[None]:
    """Leave the caller's global random state as it was."""
    numpy = _numpy()
    kept = numpy.random.get_state() if numpy is not None else None
    plain = random.getstate()
    with _torch_preserved():
        try:
            yield
        finally:
            random.setstate(plain)
            if numpy is not None and kept is not None:
                numpy.random.set_state(kept)


@contextmanager
def _torch_preserved() -> Iterator[None]:
    before = torch.get_rng_state()
    devices = [(module, module.get_rng_state_all()) for module in _in_use()]
    try:
        yield
    finally:
        torch.set_rng_state(before)
        with suppress(RuntimeError):  # a device that an illegal access has ended has no state
            for module, states in devices:
                module.set_rng_state_all(states)
