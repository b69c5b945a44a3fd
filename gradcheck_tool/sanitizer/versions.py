"""PyTorch's check of saved tensors, which it leaves out where saved-tensor hooks are active.

The text is PyTorch's own: what changes with its version is taken from an error that it is made to raise.
"""

from __future__ import annotations

import _thread
import re
import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

_MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "
_type_names: dict[tuple[torch.dtype, str], str] = {}
_NODE = re.compile(r"(.*)Backward0?(\d*)")


@dataclass(frozen=True, slots=True)
class _Wording:
    """How this PyTorch ends its text, and whether it names nodes in full (`ExpBackward0`)."""

    hint: str
    in_full: bool


def modified_text(tensor: Tensor, saved: int, producer: tuple[str, int] | None) -> str:
    """What PyTorch says of a saved tensor that is in another version than `saved`.

    `producer` is the node that the tensor comes out of, by name, and which of its outputs it is.
    """
    wording = _wording(torch.is_anomaly_enabled())
    of = ""
    if producer is not None:
        name = producer[0] if wording.in_full else _NODE.sub(r"\1\2", producer[0])
        of = f", which is output {producer[1]} of {name},"
    return (
        f"{_MODIFIED}[{_type_name(tensor)} {list(tensor.shape)}]{of} is at version "
        f"{tensor._version}; expected version {saved} instead.{wording.hint}"
    )


def _type_name(tensor: Tensor) -> str:
    """PyTorch's name for a type of tensor, for which it has several ways."""
    key = tensor.dtype, tensor.device.type
    if key not in _type_names:
        like = torch.zeros(1, dtype=tensor.dtype, device=tensor.device)
        text = _raised_by(lambda: _saved_and_written(like))
        name = text.removeprefix(_MODIFIED)[1:].partition(" ")[0]
        _type_names[key] = name or tensor.type()
    return _type_names[key]


def detached_text() -> str:
    """What PyTorch says of a saved tensor that `detach_` has cut off its node."""
    return _raised_by(_detached_in_place)


@cache
def freed_text() -> str:
    """What PyTorch says of a pass through what an earlier one has freed."""
    return _raised_by(_twice)


@cache
def unused_text() -> str:
    """What PyTorch says of an input that a result does not depend on."""
    return _raised_by(_differentiated_by_another)


@cache
def _wording(anomaly: bool) -> _Wording:  # noqa: ARG001 - what is remembered holds for one of the modes
    text = _raised_by(_written_in_place)
    return _Wording(text.partition(" instead.")[2], "of ExpBackward0," in text)


class _Saving(torch.autograd.Function):
    """Saves a tensor of any type."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, saved: Tensor) -> Tensor:
        ctx.save_for_backward(saved)
        return x + 1

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * len(ctx.saved_tensors), None


def _saved_and_written(tensor: Tensor) -> None:
    result: Any = _Saving.apply(torch.ones(1, requires_grad=True), tensor)  # type: ignore[no-untyped-call]
    tensor.zero_()
    torch.autograd.backward(result.sum())


def _written_in_place() -> None:
    result = torch.ones(1, requires_grad=True).exp()
    result.add_(1)
    torch.autograd.backward(result.sum())


def _detached_in_place() -> None:
    source = torch.ones(1, requires_grad=True) * 1
    result = source.sin()
    source.detach_()
    torch.autograd.backward(result.sum())


def _twice() -> None:
    result = torch.ones(1, requires_grad=True).exp().sum()
    torch.autograd.backward(result)
    torch.autograd.backward(result)


def _differentiated_by_another() -> None:
    one, other = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    torch.autograd.grad(one.exp().sum(), other)


def _raised_by(program: Callable[[], None]) -> str:
    """What PyTorch raises in a thread of its own, where no hooks and modes are active."""
    texts: list[str] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program()
        except RuntimeError as error:
            texts.append(str(error))
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    with done:
        return texts[0] if texts else ""
