"""`accumulation`: contributions of repeated indices are not added up.

## Example

```python
import torch


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(x, index)
        return x[index]

    @staticmethod
    def backward(ctx, gradient):
        x, index = ctx.saved_tensors
        result = torch.zeros_like(x)
        result[index] = gradient
        return result, None  # <- accumulation


arguments = (
    torch.randn(6, 3, dtype=torch.double, requires_grad=True),
    torch.tensor([4, 0, 4, 1]),
)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.PART)
def not_accumulated(e: Evidence) -> Diagnosis | None:
    """What repeated indices contribute is not added up."""
    bad = e.off.any(0).reshape(e.shape)
    if not e.shape:
        return None
    for leaf in e.problem.leaves:
        if (
            not isinstance(leaf, Tensor)
            or leaf.is_floating_point()
            or leaf.is_complex()
            or leaf.dtype == torch.bool
        ):
            continue
        flat = leaf.detach().reshape(-1).cpu()
        if flat.numel() < 2:
            continue
        for axis, size in enumerate(e.shape):
            repeated = _repeated(flat, size)
            if repeated is None:
                continue
            wrong = bad.movedim(axis, 0).reshape(size, -1).any(1)
            if (
                bool(wrong.any())
                and bool((~wrong | repeated.to(wrong.device)).all())
                and not bool(repeated.all() and not wrong.all())
            ):
                return Diagnosis(
                    "accumulation",
                    f"{input_name(e)} is wrong exactly where an index is repeated: contributions are not "
                    "added up",
                )
    return None


def _repeated(index: Tensor, size: int) -> Tensor | None:
    """Which of `size` rows belong to a repeated index: as target of a gather or as source of a scatter."""
    low, high = int(index.min()), int(index.max())
    counts: dict[int, int] = {}
    for value in index.tolist():
        counts[int(value)] = counts.get(int(value), 0) + 1
    if max(counts.values()) < 2:
        return None
    if len(index) == size:
        return torch.tensor([counts[int(value)] > 1 for value in index.tolist()])
    if low >= 0 and high < size:
        return torch.tensor([counts.get(row, 0) > 1 for row in range(size)])
    return None
