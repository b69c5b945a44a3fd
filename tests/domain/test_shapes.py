"""Shapes of results: PyTorch is asked, and unknown sizes never lead to a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradcheck_tool.domain import shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.shapes import Shape

SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple)
# The other arguments of a function, for a tensor of so many dimensions.
ARGUMENTS: dict[str, Callable[[int], st.SearchStrategy[int]]] = {
    "dim": lambda rank: st.integers(-rank, rank - 1),
    "count": lambda _: st.integers(1, 3),
    "offset": lambda _: st.integers(-2, 2),
}
# For each function: the same in PyTorch, and its other arguments.
Unary = tuple["Callable[..., Shape]", "Callable[..., torch.Tensor]", tuple[str, ...]]
UNARY: dict[str, Unary] = {
    "sum over all": (lambda s: shapes.reduced(s, None, False), lambda t: t.sum(), ()),
    "sum over one": (lambda s, d: shapes.reduced(s, [d], False), lambda t, d: t.sum(d), ("dim",)),
    "sum, keepdim": (
        lambda s, d: shapes.reduced(s, [d], True),
        lambda t, d: t.sum(d, keepdim=True),
        ("dim",),
    ),
    "unsqueeze": (shapes.unsqueezed, torch.unsqueeze, ("dim",)),
    "squeeze one": (shapes.squeezed, torch.squeeze, ("dim",)),
    "squeeze all": (lambda s: shapes.squeezed(s, None), torch.squeeze, ()),
    "select": (shapes.without, lambda t, d: t.select(d, 0), ("dim",)),
    "index_select": (
        lambda s, d: shapes.resized(s, d, 2),
        lambda t, d: t.index_select(d, torch.tensor([0, 0])),
        ("dim",),
    ),
    "transpose": (shapes.swapped, torch.transpose, ("dim", "dim")),
    "movedim": (shapes.moved, torch.movedim, ("dim", "dim")),
    "flatten": (shapes.flattened, torch.flatten, ("dim", "dim")),
    "diagonal": (shapes.diagonal, torch.diagonal, ("offset", "dim", "dim")),
    "view as a row": (lambda s: shapes.viewed(s, [1, -1]), lambda t: t.reshape(1, -1), ()),
    "view as rows": (
        lambda s, n: shapes.viewed(s, [n, -1]),
        lambda t, n: t.reshape(n, -1),
        ("count",),
    ),
    "expand": (
        lambda s, n: shapes.expanded(s, [n, *(-1 for _ in s)]),
        lambda t, n: t.expand(n, *(-1 for _ in t.shape)),
        ("count",),
    ),
    "repeat": (
        lambda s, n: shapes.repeated(s, [2, *(n for _ in s)]),
        lambda t, n: t.repeat(2, *(n for _ in t.shape)),
        ("count",),
    ),
    "reverse the dimensions": (
        lambda s: shapes.permuted(s, list(range(len(s)))[::-1]),
        lambda t: t.permute(*range(t.dim())[::-1]),
        (),
    ),
}
BINARY: dict[str, tuple[Callable[..., Shape], Callable[..., torch.Tensor]]] = {
    "broadcast": (lambda a, b: shapes.broadcast([a, b]), torch.add),
    "matmul": (shapes.matmul, torch.matmul),
}


def hidden(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """The shape with some of its sizes unknown."""
    return tuple(None if draw(st.booleans()) else size for size in shape)


def may_be(known: Shape, shape: torch.Size) -> bool:
    """Is what is known about a shape true?"""
    if known is None:
        return True
    return len(known) == len(shape) and all(a in (None, b) for a, b in zip(known, shape, strict=True))


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_the_shape_of_a_result_of_one_tensor(name: str, data: st.DataObject) -> None:
    model, function, names = UNARY[name]
    shape = data.draw(SHAPES)
    arguments = [data.draw(ARGUMENTS[each](len(shape))) for each in names]
    try:
        expected = function(torch.zeros(shape), *arguments).shape
    except (RuntimeError, IndexError):  # dimensions in the wrong order, or the same one twice
        return
    assert model(shape, *arguments) == tuple(expected)
    partly = data.draw(st.composite(hidden)(shape))
    assert may_be(model(partly, *arguments), expected)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
def test_the_shape_of_a_result_of_two_tensors(name: str, data: st.DataObject) -> None:
    model, function = BINARY[name]
    sizes = [data.draw(SHAPES) for _ in range(2)]
    try:
        expected = function(*(torch.zeros(shape) for shape in sizes)).shape
    except RuntimeError:  # sizes that do not fit
        return
    assert model(*sizes) == tuple(expected)
    partly = [data.draw(st.composite(hidden)(shape)) for shape in sizes]
    assert may_be(model(*partly), expected)


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ij,jk", "bij,bjk->bik", "i,j->ij", "ij->ji", "ii->i", "ij,ij->"]
)
def test_the_shape_of_einsum(equation: str) -> None:
    size = {"i": 2, "j": 3, "k": 4, "b": 5}
    operands = [tuple(size[label] for label in term) for term in equation.partition("->")[0].split(",")]
    expected = torch.einsum(equation, *map(torch.zeros, operands)).shape
    assert shapes.contracted(equation, operands) == tuple(expected)
    assert may_be(shapes.contracted(equation, [None for _ in operands]), expected)
