"""`broadcast`: the gradient is not summed over what was broadcast.

## Example

```python
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient * weight, (gradient * x)[0]  # <- broadcast


arguments = (
    torch.randn(4, 3, dtype=torch.double, requires_grad=True),
    torch.randn(3, dtype=torch.double, requires_grad=True),
)
```
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.gradcheck.evidence import Evidence
    from gradcheck_tool.gradcheck.probes import Cotangent


@diagnosis(Stage.WHOLE, after="moved")
def reduced(e: Evidence) -> Diagnosis | None:
    """Only one slice of a sum over an output axis arrived in the gradient."""
    pull = e.pull_reference
    if pull is None:
        return None
    for k, v in enumerate(e.cotangents[0]):
        if v is None:
            continue
        for axis in range(v.dim()):
            size = v.shape[axis]
            if size < 2 or size > 64:
                continue
            for at in {0, size - 1}:
                if _slice_explains(e, pull, k, axis, at):
                    return _slice_diagnosis(e, v, axis, at)
    return None


def _slice_explains(
    e: Evidence, pull: Callable[[Cotangent], list[Tensor]], output: int, axis: int, at: int
) -> bool:
    for row in (0, 2):
        kept: Cotangent = []
        for k, v in enumerate(e.cotangents[row]):
            if v is None or k != output:
                kept.append(None if v is None else v.clone())
                continue
            mask = torch.zeros_like(v)
            mask.select(axis, at).fill_(1)
            kept.append(v * mask)
        got = pull(kept)[e.index].reshape(-1)
        if not bool((((got - e.analytic[row]).abs() <= 10 * e.tolerance[row].max()) | ~e.known).all()):
            return False
    return bool(e.off.any())


def _slice_diagnosis(e: Evidence, v: Tensor, axis: int, at: int) -> Diagnosis:
    spread = math.prod(e.shape) < v.numel() and _broadcastable(e.shape, tuple(v.shape))
    which = "first" if at == 0 else "last"
    if spread:
        return Diagnosis(
            "broadcast",
            f"{input_name(e)} is not summed over axis {axis} of the output: only the {which} slice is used",
        )
    if axis == 0:
        return Diagnosis(
            "batch", f"{input_name(e)} uses only the {which} sample of the batch (axis 0 of the output)"
        )
    if _is_part(e.shape, tuple(n for k, n in enumerate(v.shape) if k != axis)):
        lacks = f"{input_name(e)}, which has no axis {axis} of the output, is not summed over it"
        return Diagnosis("broadcast", f"{lacks}: only the {which} slice is used")
    return Diagnosis("region", f"{input_name(e)} uses only the {which} slice of axis {axis} of the output")


def _is_part(shape: tuple[int, ...], of: tuple[int, ...]) -> bool:
    """Whether the sizes `shape` stand in `of` in the same order."""
    rest = iter(of)
    return all(size in rest for size in shape)


def _broadcastable(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    tail = into[len(into) - len(shape) :]
    return len(shape) <= len(into) and all(a in (1, b) for a, b in zip(shape, tail, strict=True))
