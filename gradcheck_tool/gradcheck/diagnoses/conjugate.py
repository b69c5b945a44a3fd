"""`conjugate`: the gradient of a complex input is the conjugate of the right one.

## Example

```python
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return z * z

    @staticmethod
    def backward(ctx, gradient):
        (z,) = ctx.saved_tensors
        return gradient * 2 * z  # <- conjugate


arguments = (torch.randn(4, dtype=torch.cdouble, requires_grad=True),)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.WHOLE, after="rounded")
def conjugate(e: Evidence) -> Diagnosis | None:
    """The gradient is the conjugate of the right one."""
    if not (e.analytic.is_complex() or any(v is not None and v.is_complex() for v in e.cotangents[0])):
        return None
    flipped = [[None if x is None else x.conj().resolve_conj() for x in v] for v in e.cotangents]
    candidates = [e.reference.conj()]
    if e.pull_reference is not None:
        turned = torch.stack([e.pull_reference(v)[e.index].reshape(-1) for v in flipped])
        candidates += [turned, turned.conj()]
    known = e.known
    alike = any(e.same(e.analytic, c, 10) for c in candidates)
    if not alike and e.analytic.is_complex():
        alike = bool(((e.analytic.abs() - e.reference.abs()).abs() <= 10 * e.tolerance)[:, known].all())
    return Diagnosis("conjugate", f"{input_name(e)} lacks a complex conjugate") if alike else None
