"""`missing-term`, or `unknown` where no rule explains the gradient.

## Example

```python
import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.softmax(-1)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        (result,) = ctx.saved_tensors
        return gradient * result  # <- missing-term


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.REST, after="scattered")
def missing_term(e: Evidence) -> Diagnosis:
    """A term of the gradient is missing, if that explains it; `unknown` if not."""
    known = e.known
    gap = (e.reference - e.analytic)[:, known]
    a, r = e.analytic[:, known], e.reference[:, known]
    like = _proportional(e, gap)
    cosine = abs(complex((a.conj() * r).sum().item())) / (
        float(a.abs().square().sum().sqrt() * r.abs().square().sum().sqrt()) or 1.0
    )
    if like is None and cosine < 0.2 and float(a.abs().max()) > 0:
        return Diagnosis(
            "unknown",
            f"{input_name(e)} is unrelated to the derivative (cosine {cosine:.2g})",
            {"cosine": cosine},
        )
    tail = f"; what is missing is {like}" if like else ""
    return Diagnosis(
        "missing-term",
        f"{input_name(e)} lacks a term of the chain rule (cosine to the right one {cosine:.3g}){tail}",
        {"cosine": cosine},
    )


def _proportional(e: Evidence, gap: Tensor) -> str | None:
    """What the missing term is proportional to, or along which axis it is constant."""
    if not bool(e.known.all()):
        return None
    size = float(gap.abs().max())
    full = gap.reshape(-1, *e.shape)
    for axis, length in enumerate(e.shape):
        if length > 1 and float((full - full.mean(axis + 1, keepdim=True)).abs().max()) <= 1e-6 * size:
            return f"constant along axis {axis} (a sum or mean over it)"
    candidates = [(f"input {i}", v) for i, v in enumerate(e.problem.values)]
    candidates += [(f"output {k}", y) for k, y in enumerate(e.problem.forward(e.problem.values))]
    for label, tensor in candidates:
        if tuple(tensor.shape) != e.shape or tensor.is_complex() or gap.is_complex():
            continue
        ratio = full / tensor.to(full.dtype)
        for axes in ([*range(1, ratio.dim())], [ratio.dim() - 1]):
            if axes and math.prod(ratio.shape[a] for a in axes) > 1:
                middle = ratio.mean(axes, keepdim=True)
                if float(((ratio - middle) * tensor).abs().max()) <= 1e-6 * size:
                    return f"proportional to {label}"
    return None
