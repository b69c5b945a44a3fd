"""`ignores-cotangent` and `not-linear-in-cotangent`: the incoming gradient is used wrongly.

## Example

```python
import torch


class Clamped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return (gradient * x.cos()).clamp(-1, 1)  # <- not-linear-in-cotangent


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name, norm

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.ALONE, after="absent")
def wrong_cotangent(e: Evidence) -> Diagnosis | None:
    """The incoming gradient is ignored, or used in a way that is not linear."""
    v = e.cotangents[0]
    g = e.analytic[0]
    size = norm(g, e.known) or 1.0
    double = e.pull_analytic([None if x is None else 2 * x for x in v])[e.index].reshape(-1)
    other = e.cotangents[2]
    if norm(double - g, e.known) <= 1e-6 * size and norm(e.analytic[2] - g, e.known) <= 1e-6 * size:
        return Diagnosis("ignores-cotangent", f"{input_name(e)} does not depend on the incoming gradient")
    added = e.pull_analytic(
        [None if a is None or b is None else a + b for a, b in zip(v, other, strict=True)]
    )
    defect = added[e.index].reshape(-1) - g - e.analytic[2]
    allowed = 100 * float((e.tolerance[0] + e.tolerance[2]).max())
    scale = size + norm(e.analytic[2], e.known)
    if norm(defect, e.known) > max(1e-5 * scale, allowed) or norm(double - 2 * g, e.known) > max(
        1e-5 * scale, allowed
    ):
        return Diagnosis("not-linear-in-cotangent", f"{input_name(e)} is not linear in the incoming gradient")
    return None
