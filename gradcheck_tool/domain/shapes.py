"""Shapes of results, as far as they are known: a tuple of sizes (None: unknown size) or None.

Only what decides whether a result is a single number, how many rows it has, or whether a write
broadcasts is worked out; everything else is unknown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple["int | None", ...] | None


def size_text(shape: Shape) -> str:
    """A shape as PyTorch writes it, `?` for a size that is not known."""
    return "?" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


REDUCTIONS = frozenset(
    [
        "sum",
        "mean",
        "prod",
        "std",
        "var",
        "max",
        "min",
        "amax",
        "amin",
        "norm",
        "vector_norm",
        "all",
        "any",
        "logsumexp",
        "median",
        "nansum",
        "nanmean",
        "argmax",
        "argmin",
        "count_nonzero",
        "numel",
        "aminmax",
        "mode",
        "quantile",
        "var_mean",
        "std_mean",
    ]
)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape of an elementwise result; None where one of the shapes is unknown."""
    if any(shape is None for shape in shapes) or not shapes:
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max(len(shape) for shape in known)
    out: list[int | None] = []
    for axis in range(rank):
        sizes = [shape[axis - rank + len(shape)] for shape in known if axis - rank + len(shape) >= 0]
        big = [size for size in sizes if size is not None and size != 1]
        out.append(big[0] if big else None if None in sizes else 1)
    return tuple(out)


def matmul(a: Shape, b: Shape) -> Shape:
    """The shape of `a @ b`."""
    if a is None or b is None or not a or not b:
        return None
    if len(a) == 1 and len(b) == 1:
        return ()
    if len(a) == 1:
        return (*b[:-2], b[-1])
    if len(b) == 1:
        return a[:-1]
    batch = broadcast([a[:-2], b[:-2]])
    return (*batch, a[-2], b[-1]) if batch is not None else None


def reduced(shape: Shape, dims: Sequence[int] | None, keepdim: bool) -> Shape:
    """The shape after reducing over `dims` (None: over all)."""
    if dims is None:
        return ()
    if shape is None:
        return None
    axes = {d % len(shape) for d in dims if shape} if shape else set()
    if keepdim:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes)


def unsqueezed(shape: Shape, dim: int) -> Shape:
    """The shape with a dimension of size 1 before `dim`."""
    if shape is None:
        return None
    at = dim % (len(shape) + 1)
    return (*shape[:at], 1, *shape[at:])


def squeezed(shape: Shape, dim: int | None) -> Shape:
    """The shape without `dim` if that has size 1, or without all such dimensions (None)."""
    if shape is None or not shape:
        return shape
    if dim is None:
        return tuple(size for size in shape if size != 1) if None not in shape else None
    at = dim % len(shape)
    return None if shape[at] is None else without(shape, at) if shape[at] == 1 else shape


def without(shape: Shape, dim: int) -> Shape:
    """The shape without a dimension, as `select` and `unbind` give it."""
    if not shape:
        return None
    at = dim % len(shape)
    return shape[:at] + shape[at + 1 :]


def resized(shape: Shape, dim: int, size: int | None) -> Shape:
    """The shape with another size of one dimension, as `narrow` and `index_select` give it."""
    if not shape:
        return None
    at = dim % len(shape)
    return (*shape[:at], size, *shape[at + 1 :])


def swapped(shape: Shape, one: int, other: int) -> Shape:
    """The shape with two dimensions exchanged."""
    if not shape:
        return shape
    out = list(shape)
    out[one % len(out)], out[other % len(out)] = out[other % len(out)], out[one % len(out)]
    return tuple(out)


def permuted(shape: Shape, dims: Sequence[int | None] | None) -> Shape:
    """The shape with its dimensions in another order."""
    if shape is None or dims is None or len(dims) != len(shape):
        return None
    known = [dim for dim in dims if dim is not None and -len(shape) <= dim < len(shape)]
    return tuple(shape[dim] for dim in known) if len(known) == len(dims) else None


def moved(shape: Shape, source: int, destination: int) -> Shape:
    """The shape with one dimension at another place, as `movedim` gives it."""
    if not shape or not all(-len(shape) <= at < len(shape) for at in (source, destination)):
        return None
    sizes = list(shape)
    sizes.insert(destination % len(shape), sizes.pop(source))
    return tuple(sizes)


def viewed(shape: Shape, sizes: Sequence[int | None] | None) -> Shape:
    """The shape after `view` or `reshape`; the size -1 is what the others leave."""
    if sizes is None:
        return None
    given = [size for size in sizes if size != -1]
    rest: int | None = None
    if shape is not None and None not in shape and None not in given:
        whole, part = (math.prod(size or 0 for size in known) for known in (shape, given))
        rest = whole // part if part else None
    return tuple(rest if size == -1 else size for size in sizes)


def contracted(equation: str, operands: Sequence[Shape]) -> Shape:
    """The shape of `einsum`: the sizes of the labels after the arrow, or of those that occur once."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if "." in equation or len(terms) != len(operands):
        return None
    labels = (
        right if arrow else "".join(sorted(label for label in set(left) - {","} if left.count(label) == 1))
    )
    size: dict[str, int | None] = {}
    for term, shape in zip(terms, operands, strict=True):
        if shape is not None and len(shape) == len(term):
            size.update(zip(term, shape, strict=True))
    return tuple(size.get(label) for label in labels)


def diagonal(shape: Shape, offset: int, one: int, other: int) -> Shape:
    """The shape of the diagonals of the matrices that lie along two dimensions."""
    if shape is None or len(shape) < 2:
        return None
    a, b = one % len(shape), other % len(shape)
    rest = tuple(size for at, size in enumerate(shape) if at not in (a, b))
    rows, columns = shape[a], shape[b]
    if rows is None or columns is None:
        return (*rest, None)
    return (*rest, max(0, min(rows + min(offset, 0), columns - max(offset, 0))))


def expanded(shape: Shape, sizes: Sequence[int | None] | None) -> Shape:
    """The shape after `expand`; -1 keeps a size."""
    if shape is None or sizes is None or len(sizes) < len(shape):
        return None
    padded = (None,) * (len(sizes) - len(shape)) + shape
    return tuple(old if new == -1 else new for old, new in zip(padded, sizes, strict=True))


def repeated(shape: Shape, repeats: Sequence[int | None] | None) -> Shape:
    """The shape after `repeat`."""
    if shape is None or repeats is None or len(repeats) < len(shape):
        return None
    padded = (1,) * (len(repeats) - len(shape)) + shape
    return tuple(
        None if old is None or times is None else old * times
        for old, times in zip(padded, repeats, strict=True)
    )


def flattened(shape: Shape, start: int, end: int) -> Shape:
    """The shape with the dimensions from `start` to `end` made one."""
    if shape is None:
        return None
    if not shape:
        return (1,)
    first, last = start % len(shape), end % len(shape)
    size: int | None = 1
    for each in shape[first : last + 1]:
        size = None if size is None or each is None else size * each
    return (*shape[:first], size, *shape[last + 1 :])
