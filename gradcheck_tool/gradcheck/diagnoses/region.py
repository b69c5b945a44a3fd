"""`region`: the gradient is wrong only where the input lies in some region.

## Example

```python
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.softplus(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.where(x > 0, x.sigmoid(), 0.0)  # <- region


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name
from gradcheck_tool.gradcheck.regions import describe_region

if TYPE_CHECKING:
    from torch import Tensor

    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.PART, after="not_accumulated")
def one_region(e: Evidence) -> Diagnosis | None:
    """The gradient is wrong only where the input lies in one region."""
    bad = e.off.any(0)
    live = ((e.reference.abs() > e.tolerance) | (e.analytic.abs() > e.tolerance)).any(0) & e.known
    if not bool((live & ~bad).any()):
        return None
    where = describe_region(e, bad)
    if where is None:
        return None
    if _lacks_later_terms(e, bad):
        return None
    return Diagnosis("region", f"{input_name(e)} is wrong only {where}{_how(e, bad)}", {"region": where})


def _lacks_later_terms(e: Evidence, bad: Tensor) -> bool:
    """Whether only entries at one end of an axis are right, at most a third of it: a term that is missing
    from a sum over later (or earlier) indices is missing everywhere but there.
    """
    if _how(e, bad):
        return False
    right = (~bad & e.known).reshape(e.shape)
    for axis, size in enumerate(e.shape):
        hit = [k for k in range(size) if bool(right.select(axis, k).any())]
        at_end = hit in ([*range(len(hit))], [*range(size - len(hit), size)])
        if at_end and 3 * len(hit) <= size and int(right.sum()) * size == right.numel() * len(hit):
            return True
    return False


def _how(e: Evidence, bad: Tensor) -> str:
    a, r = e.analytic[:, bad], e.reference[:, bad]
    size = float(e.tolerance.max())
    if float(a.abs().max()) <= size:
        return ", where it is zero"
    if float(r.abs().max()) <= size:
        return ", where it should be zero"
    return ""


@diagnosis(Stage.REST, after="wrong_saved_tensor")
def scattered(e: Evidence) -> Diagnosis | None:
    """The gradient is wrong at places without a region in common; None where it is wrong everywhere."""
    bad = e.off.any(0)
    live = ((e.reference.abs() > e.tolerance) | (e.analytic.abs() > e.tolerance)).any(0) & e.known
    good = int((live & ~bad).sum())
    if good < max(1, int(live.sum()) // 10) or _lacks_later_terms(e, bad):
        return None
    count = int(bad.sum())
    text = (
        f"{input_name(e)} is wrong in {count} of {int(live.sum())} examined entries{_how(e, bad)}, else right"
    )
    return Diagnosis("region", text, {"entries": count})
