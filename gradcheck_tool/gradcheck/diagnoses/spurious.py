"""`spurious`: a gradient where the output does not depend on the input.

## Example

```python
import torch


class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return a.sin()

    @staticmethod
    def backward(ctx, gradient):
        (a,) = ctx.saved_tensors
        return gradient * a.cos(), gradient  # <- spurious


arguments = (
    torch.randn(3, 4, dtype=torch.double, requires_grad=True),
    torch.randn(3, 4, dtype=torch.double, requires_grad=True),
)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.ALONE, after="wrong_cotangent")
def spurious(e: Evidence) -> Diagnosis | None:
    """A gradient where the output does not depend on the input."""
    if bool(((e.reference.abs() <= e.tolerance) | ~e.known).all()):
        return Diagnosis("spurious", f"{input_name(e)} is not zero although the output does not depend on it")
    return None
