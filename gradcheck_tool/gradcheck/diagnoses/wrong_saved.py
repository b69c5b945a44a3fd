"""`wrong-saved-tensor`: the gradient would be right if forward had saved another tensor.

## Example

```python
import torch


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)  # not the result
        return x.tanh()

    @staticmethod
    def backward(ctx, gradient):
        (saved,) = ctx.saved_tensors
        return gradient * (1 - saved * saved)  # <- wrong-saved-tensor


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis
from gradcheck_tool.gradcheck.saved import better_saved_tensor

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.REST)
def wrong_saved_tensor(e: Evidence) -> Diagnosis | None:
    """The gradient is right where another tensor takes the place of one that was saved."""
    text = better_saved_tensor(e)
    return Diagnosis("wrong-saved-tensor", text) if text is not None else None
