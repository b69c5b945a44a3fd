"""`swapped`: the gradients of two inputs are exchanged.

## Example

```python
import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, gradient):
        a, b = ctx.saved_tensors
        return gradient * a, gradient * b  # <- swapped


arguments = (
    torch.randn(3, 4, dtype=torch.double, requires_grad=True),
    torch.randn(3, 4, dtype=torch.double, requires_grad=True),
)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name, norm

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.WHOLE, after="conjugate")
def swapped(e: Evidence) -> Diagnosis | None:
    """The gradient is that of another input."""
    if e.all_reference is None:
        return None
    for j, other in enumerate(e.all_reference):
        if j == e.index or other.shape != e.analytic.shape or other.is_complex() != e.analytic.is_complex():
            continue
        if e.same(e.analytic, other, 10) and norm(other, e.known) > 0:
            text = f"{input_name(e)} is the gradient of input {j}: gradients exchanged or in the wrong slot"
            return Diagnosis("swapped", text, {"other_input": j})
    return None
