"""`transposed` and `permuted`: the right elements at the wrong places.

## Example

```python
import torch


class Flip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.flip(1)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.flip(0)  # <- permuted


arguments = (torch.randn(4, 4, dtype=torch.double, requires_grad=True),)
```
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Stage, diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence
    from gradcheck_tool.gradcheck.probes import Cotangent

Move = tuple[str, Callable[[Tensor], Tensor]]


def _moves(shape: Sequence[int]) -> Iterator[Move]:
    """Rearrangements of a tensor that keep its shape: axis permutations, flips and rolls."""
    rank = len(shape)
    if rank <= 4:
        for order in itertools.permutations(range(rank)):
            if list(order) != list(range(rank)) and all(shape[o] == shape[k] for k, o in enumerate(order)):
                last = rank >= 2 and list(order) == [*range(rank - 2), rank - 1, rank - 2]
                word = "transposed" if last or rank == 2 else f"permuted by axes {order}"
                yield word, lambda t, order=order: t.permute(*order)  # type: ignore[misc]
    axes = [k for k in range(rank) if shape[k] > 1]
    for count in range(1, min(len(axes), 3) + 1):
        for chosen in itertools.combinations(axes, count):
            yield f"flipped along axes {chosen}", lambda t, chosen=chosen: t.flip(chosen)  # type: ignore[misc]
    for axis in axes:
        for shift in (1, -1):
            yield f"rolled by {shift} along axis {axis}", lambda t, s=shift, a=axis: t.roll(s, a)  # type: ignore[misc]


@diagnosis(Stage.WHOLE, after="swapped")
def moved(e: Evidence) -> Diagnosis | None:
    """The gradient has the right elements at the wrong places."""
    if not bool(e.known.all()) or len(e.known) < 2:
        return None
    rows = e.reference.reshape(-1, *e.shape)
    for word, move in _moves(e.shape):
        if _equal(e, torch.stack([move(row) for row in rows]).reshape(e.reference.shape)):
            return _move_diagnosis(e, word, "the right one is")
    answer = _moved_cotangent(e)
    if answer is not None:
        return answer
    if bool(((e.analytic.abs() - e.reference.abs()).abs() <= 10 * e.tolerance).all()):
        return None  # every entry is in its place: only signs differ
    a, r = e.analytic.abs().sort(1).values, e.reference.abs().sort(1).values
    rough = r[0][r[0] > 1e-6 * r[0].max()]
    generic = len(rough) > 2 and len(torch.unique((rough / rough.max()).round(decimals=6))) > max(
        2, len(rough) // 2
    )
    if generic and bool(((a - r).abs() <= 10 * e.tolerance.max()).all()):
        return Diagnosis("permuted", f"{input_name(e)} has the right entries in the wrong places")
    return None


def _equal(e: Evidence, rows: Tensor) -> bool:
    gap = (e.analytic - rows).abs()
    return bool((gap <= 10 * e.tolerance.max(1, keepdim=True).values).all())


def _move_diagnosis(e: Evidence, word: str, subject: str) -> Diagnosis:
    kind = "transposed" if word == "transposed" else "permuted"
    return Diagnosis(kind, f"{input_name(e)} is wrongly arranged: {subject} {word}", {"arrangement": word})


def _moved_cotangent(e: Evidence) -> Diagnosis | None:
    pull = e.pull_reference
    if pull is None or len(e.cotangents[0]) != 1 or e.cotangents[0][0] is None:
        return None
    first = e.cotangents[0][0]
    if first.numel() > 100_000:
        return None
    inner_moves: list[Move] = [("as is", lambda t: t), *_moves(e.shape)]
    for word, move in _moves(first.shape):
        got = _one(e, pull, move, 0)
        for inside, back in inner_moves:
            target = 10 * float(e.tolerance[0].max())
            if bool(((e.analytic[0] - back(got).reshape(-1)).abs() <= target).all()):
                again = back(_one(e, pull, move, 2)).reshape(-1)
                if bool(((e.analytic[2] - again).abs() <= 10 * float(e.tolerance[2].max())).all()):
                    if len(e.known) < first.numel() and word == "transposed":
                        return Diagnosis("broadcast", f"{input_name(e)} is summed over the wrong dimension")
                    text = f"the incoming gradient must be {word}" + (
                        "" if inside == "as is" else f" and the result {inside}"
                    )
                    return _move_diagnosis(e, word if inside in ("as is", word) else "permuted", text + ":")
    return None


def _one(
    e: Evidence, pull: Callable[[Cotangent], list[Tensor]], move: Callable[[Tensor], Tensor], row: int
) -> Tensor:
    v = e.cotangents[row][0]
    assert v is not None
    return pull([move(v).contiguous()])[e.index]
