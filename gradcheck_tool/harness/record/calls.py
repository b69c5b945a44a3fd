"""One recorded call: what it was given, the state of the world around it, what came back."""

from __future__ import annotations

import hashlib
import random
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.harness.record.arguments import Packed, pack, unpack
from gradcheck_tool.harness.record.tensors import TensorTable, rebuilt, stored

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Surroundings:
    """State outside the arguments that a forward can depend on.

    Attributes:
        default_dtype: such as `float32`.
        grad: whether grad mode was on.
        autocast: device type -> dtype, where autocast was on.
        random: states of the generators of torch, of Python and of numpy; None where nothing was drawn.
    """

    default_dtype: str
    grad: bool
    autocast: dict[str, str]
    random: tuple[bytes, Any, Any] | None = None


@dataclass(slots=True)
class RecordedCall:
    """A call `Function.apply(*args, **kwargs)`.

    Attributes:
        module, qualname: of the Function, as they were in the recorded process.
        filename: the file of that module; None where it had none.
        kind: names calls that differ in sizes only.
        arguments: `(args, kwargs)`; None where they could not be stored.
        problem: why they could not.
        surroundings: the state they were used in.
        outputs: digest of the outputs; None where it says nothing.
        cotangents: the first incoming gradients, one for each output; None in it for "no gradient".
    """

    module: str
    qualname: str
    filename: str | None
    kind: str
    arguments: Packed | None = None
    problem: str | None = None
    surroundings: Surroundings | None = None
    outputs: str | None = None
    cotangents: tuple[TensorTable, tuple[bool, ...]] | None = field(default=None)

    @property
    def exact(self) -> bool:
        """Whether the arguments are those of the call, bit for bit."""
        return self.arguments is not None and self.arguments.tensors.exact

    @property
    def size(self) -> int:
        """Number of elements of all tensor arguments together."""
        return sum(m.length for m in self.arguments.tensors.memories) if self.arguments else 0


def surroundings_now() -> Surroundings:
    """The state before a call, random generators included."""
    devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    autocast = {
        d: str(torch.get_autocast_dtype(d)).removeprefix("torch.")
        for d in devices
        if torch.is_autocast_enabled(d)
    }
    dtype = str(torch.get_default_dtype()).removeprefix("torch.")
    return Surroundings(dtype, torch.is_grad_enabled(), autocast, _random_state())


def digest_of(outputs: Any) -> str:
    """Names the values, shapes and dtypes of all output tensors."""
    seen = hashlib.blake2b(digest_size=16)
    for value in outputs if isinstance(outputs, tuple) else (outputs,):
        if isinstance(value, Tensor):
            plain = value.detach().to_dense() if value.layout != torch.strided else value.detach()
            packed = pack(plain.cpu().contiguous().clone())
            for memory in packed.tensors.memories:
                seen.update(f"{memory.dtype}{tuple(value.shape)}{memory.center}{memory.spread}".encode())
                seen.update(memory.data or b"")
    return seen.hexdigest()


def stored_cotangents(gradients: tuple[Tensor | None, ...]) -> tuple[TensorTable, tuple[bool, ...]]:
    """Incoming gradients as plain data, with their layouts.

    Raises:
        NotStorableError: as `stored`.
    """
    given = [g.detach() for g in gradients if g is not None]
    return stored(given), tuple(g is not None for g in gradients)


def cotangents_of(call: RecordedCall, device: str | None = None) -> tuple[Tensor | None, ...] | None:
    """The incoming gradients of a recorded call, where a backward was seen."""
    if call.cotangents is None:
        return None
    table, given = call.cotangents
    values = iter(rebuilt(table, device))
    return tuple(next(values) if there else None for there in given)


def arguments_of(call: RecordedCall, device: str | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and keyword arguments of a recorded call.

    Raises:
        ValueError: where they could not be stored.
        Exception: whatever the classes of the arguments raise.
    """
    if call.arguments is None:
        raise ValueError(f"not stored: {call.problem}")
    args, kwargs = unpack(call.arguments, device)
    return args, kwargs


def replay(function: Any, call: RecordedCall, device: str | None = None) -> Any:
    """Call `function.apply` as it was called, in the state it was called in; its outputs.

    The caller's random state is left as it was.

    Raises:
        Exception: whatever the forward raises.
    """
    # The recorder shares this module, and nobody's program is to wait for the whole engine.
    from gradcheck_tool.gradcheck.rng import preserved

    args, kwargs = arguments_of(call, device)
    with preserved(), _as_recorded(call.surroundings):
        return function.apply(*args, **kwargs)


@contextmanager
def _as_recorded(state: Surroundings | None) -> Iterator[None]:
    if state is None:
        yield
        return
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, state.default_dtype))
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.set_grad_enabled(state.grad))
            for device, dtype in state.autocast.items():
                stack.enter_context(torch.autocast(device, getattr(torch, dtype)))
            _set_random_state(state.random)
            yield
    finally:
        torch.set_default_dtype(before)


def _random_state() -> tuple[bytes, Any, Any]:
    numpy = sys.modules.get("numpy")
    drawn = bytes(torch.get_rng_state().numpy()) if numpy else bytes(torch.get_rng_state().tolist())
    return drawn, random.getstate(), numpy.random.get_state() if numpy else None


def _set_random_state(state: tuple[bytes, Any, Any] | None) -> None:
    if state is None:
        return
    torch.set_rng_state(torch.frombuffer(bytearray(state[0]), dtype=torch.uint8))
    random.setstate(state[1])
    if state[2] is not None:
        import numpy as np

        np.random.set_state(state[2])  # noqa: NPY002 - the recorded program drew from this generator
