"""`precision`: the gradient is right but for rounding.

## Example

```python
import torch


class Sine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x.float().cos().double()  # <- precision


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name
from gradcheck_tool.gradcheck.saved import saved_by
from gradcheck_tool.gradcheck.stencil import coarsest

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.WHOLE, after="multiple")
def rounded(e: Evidence) -> Diagnosis | None:
    """Every entry carries a rounding error of a lower precision, and is representable in it, or what
    backward computes with is kept in it.
    """
    given = coarsest(e.problem.values)
    a, r = e.analytic[:, e.known], e.reference[:, e.known]
    size = r.abs().square().mean().sqrt()
    parts = torch.view_as_real(a) if a.is_complex() else a
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        limit = 4 * torch.finfo(dtype).eps
        if torch.finfo(dtype).eps <= torch.finfo(given).eps or not bool(
            ((a - r).abs() <= limit * (r.abs() + size)).all()
        ):
            continue
        exact = torch.equal(parts, parts.to(dtype).to(parts.dtype))
        if exact or dtype is torch.float32 or any(t.dtype is dtype for t in saved_by(e)):
            low, high = (str(d).removeprefix("torch.") for d in (dtype, given))
            return Diagnosis("precision", f"{input_name(e)} was computed in {low}: digits are lost in {high}")
    return None
