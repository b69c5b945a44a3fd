"""`zero` and `none`: there is no gradient where there should be one.

## Example

```python
import torch


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a)
        return a.detach() * b

    @staticmethod
    def backward(ctx, gradient):
        (a,) = ctx.saved_tensors
        return None, gradient * a  # <- none


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


@diagnosis(Stage.ALONE, after="nan")
def absent(e: Evidence) -> Diagnosis | None:
    """No gradient, or zeros, where the output depends on the input."""
    size = norm(e.analytic, e.known)
    if size > float((e.tolerance * e.known).square().sum().sqrt()) or size > 0.05 * norm(
        e.reference, e.known
    ):
        return None
    if e.none_returned:
        return Diagnosis("none", f"backward returns None for input {e.index}, on which the output depends")
    return Diagnosis("zero", f"{input_name(e)} is zero although the output depends on it")
