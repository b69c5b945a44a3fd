"""`sign` and `factor`: the gradient is a multiple of the right one.

## Example

```python
import torch


class Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.expand(ctx.shape).clone()  # <- factor


arguments = (torch.randn(3, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


@diagnosis(Stage.WHOLE)
def multiple(e: Evidence) -> Diagnosis | None:
    """The gradient is the right one times a number: its sign, a size, a constant."""
    a, r = e.analytic[:, e.known], e.reference[:, e.known]
    power = float(r.abs().square().sum())
    if power == 0.0 or not bool(torch.isfinite(a.abs()).all()):
        return None
    ratio = (r.conj() * a).sum() / power
    c = complex(ratio.item()) if ratio.is_complex() else float(ratio)
    rest = float((a - ratio * r).abs().square().sum().sqrt())
    allowed = max(
        3 * float(e.tolerance[:, e.known].square().sum().sqrt()) * max(1.0, abs(c)),
        1e-6 * abs(c) * math.sqrt(power),
    )
    if rest > min(allowed, 0.05 * abs(c - 1) * math.sqrt(power)) and rest > 1e-3 * abs(c - 1) * math.sqrt(
        power
    ):
        return None
    if isinstance(c, complex):
        if abs(c.imag) > 1e-6 * abs(c):
            return None
        c = c.real
    if abs(c - 1) < 1e-6:
        return None
    if abs(c + 1) < 1e-6:
        return Diagnosis("sign", f"{input_name(e)} has the opposite sign", {"ratio": c})
    source = name_factor(c, e)
    text = f"{input_name(e)} is {c:.6g} times the right one"
    return Diagnosis("factor", text + (f" ({source})" if source else ""), {"ratio": c, "source": source})


def _sizes(e: Evidence) -> dict[str, float]:
    """Numbers that factors are often made of: shapes, scalar arguments and small constants."""
    sizes: dict[str, float] = {"2": 2.0, "3": 3.0, "4": 4.0, "pi": math.pi, "ln 2": math.log(2)}
    for i, value in enumerate(e.problem.values):
        sizes.setdefault(f"the number of elements of input {i}", float(value.numel()))
        for axis, length in enumerate(value.shape):
            sizes.setdefault(f"size {length} of axis {axis} of input {i}", float(length))
    for position, leaf in enumerate(e.problem.leaves):
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            sizes[f"argument {position} ({leaf!r})"] = float(leaf)
    return {label: size for label, size in sizes.items() if size not in (0.0, 1.0)}


def name_factor(c: float, e: Evidence) -> str | None:
    """A likely source of the factor: a small number, a size, its root, or an argument of the call."""
    found: list[str] = []
    for label, size in _sizes(e).items():
        root = math.sqrt(abs(size))
        forms = {
            label: size,
            f"1 / {label}": 1 / size,
            f"sqrt of {label}": root,
            f"1 / sqrt of {label}": 1 / root,
            f"square of {label}": size * size,
            f"1 / square of {label}": 1 / size / size,
        }
        found += [form for form, value in forms.items() if abs(abs(c) - abs(value)) <= 1e-5 * abs(value)]
    return min(found, key=lambda f: ("argument" not in f, len(f))) if found else None
