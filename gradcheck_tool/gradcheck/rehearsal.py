"""A call with derived or guessed arguments, tried on a CPU before it is made on a device.

An index out of bounds is an `IndexError` on a CPU. On CUDA it is an assertion inside a kernel, after which
the device refuses every call of the process.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.limits import patiently
from gradcheck_tool.gradcheck.native import native_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.gradcheck.problem import Problem
    from gradcheck_tool.gradcheck.session import Session

_OUT_OF_BOUNDS = re.compile(r"out of (?:bounds|range)|smaller than num_classes")


def may_run(session: Session, derived: Problem) -> bool:
    """Whether a derived call leaves the device as it is; native code is not tried on a CPU."""
    if session.body is None and native_code(session.klass) is not None:
        return True

    def call(leaves: list[Any]) -> Any:
        moved = derived.with_leaves(leaves)
        return moved.vjp(moved.values, [torch.ones_like(y) for y in moved.base])

    return breaks_device(call, derived.leaves) is None


def breaks_device(call: Callable[[list[Any]], Any], leaves: Sequence[Any]) -> str | None:
    """How a CPU refuses arguments with which the device would be lost; None where nothing is against them.

    Args:
        call: what is to be called, with leaves in the place of `leaves`.
        leaves: arguments on a device. For those on a CPU nothing is tried.
    """
    if all(x.device.type == "cpu" for x in leaves if isinstance(x, Tensor)):
        return None
    moved = [_on_cpu(x) if isinstance(x, Tensor) else x for x in leaves]
    outcome = patiently(lambda: call(moved))
    lost = isinstance(outcome, IndexError) or (
        isinstance(outcome, RuntimeError) and _OUT_OF_BOUNDS.search(str(outcome)) is not None
    )
    return f"{type(outcome).__name__}: {outcome}" if lost else None


def _on_cpu(value: Tensor) -> Tensor:
    moved = value.detach().to(torch.device("cpu"))
    return moved.requires_grad_(value.requires_grad)
