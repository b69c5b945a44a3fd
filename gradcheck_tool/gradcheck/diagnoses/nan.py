"""`nan`: the gradient is not a number where the function is smooth.

## Example

```python
import torch


class Entropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, p):
        ctx.save_for_backward(p)
        return torch.special.entr(p.clamp(min=0.5))

    @staticmethod
    def backward(ctx, gradient):
        (p,) = ctx.saved_tensors
        slope = -1 - p.log()  # not a number where p < 0
        return gradient * torch.where(p > 0.5, slope, 0 * slope)  # <- nan


arguments = (torch.tensor([-1.0, -0.2, 0.3, 0.9], dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name
from gradcheck_tool.gradcheck.regions import describe_region

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.ALONE)
def nan(e: Evidence) -> Diagnosis | None:
    """Not a number, or infinite, where the function is smooth."""
    bad = (~torch.isfinite(e.analytic.abs()) & torch.isfinite(e.reference.abs()) & e.known).any(0)
    if not bool(bad.any()):
        return None
    where = describe_region(e, bad)
    return Diagnosis(
        "nan", f"{input_name(e)} is not finite {where or ''} although the derivative is".replace("  ", " ")
    )
