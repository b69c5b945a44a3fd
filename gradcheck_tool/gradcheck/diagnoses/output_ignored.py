"""`output-ignored`: the gradient of one output is left out.

## Example

```python
import torch


class Waves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, of_sine, of_cosine):
        (x,) = ctx.saved_tensors
        return of_sine * x.cos()  # <- output-ignored


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name, norm
from gradcheck_tool.gradcheck.probes import one_output

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.ALONE, after="spurious")
def output_ignored(e: Evidence) -> Diagnosis | None:
    """The gradient lacks what one of the outputs contributes."""
    v = e.cotangents[0]
    if len(v) < 2 or e.pull_reference is None:
        return None
    ignored, right = [], 0
    for k in range(len(v)):
        alone = one_output(v, k)
        a = e.pull_analytic(alone)[e.index].reshape(-1)
        r = e.pull_reference(alone)[e.index].reshape(-1)
        floor = 10 * float(e.tolerance[0].max())
        if norm(a, e.known) <= floor < norm(r, e.known):
            ignored.append(k)
        elif norm(a - r, e.known) <= floor:
            right += 1
    if not ignored or right + len(ignored) < len(v):
        return None
    which = ", ".join(map(str, ignored))
    return Diagnosis(
        "output-ignored",
        f"{input_name(e)} ignores the incoming gradient of output {which}",
        {"outputs": ignored},
    )
