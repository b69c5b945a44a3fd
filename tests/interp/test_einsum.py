"""Which operands `einsum` saves themselves: PyTorch is asked, with equations at random."""

from __future__ import annotations

import random

import pytest
import torch

from gradcheck_tool.library.torch.contraction import is_saved

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}


def _operand(labels: str, contiguous: bool) -> torch.Tensor:
    sizes = [SIZES[label] for label in labels]
    larger = torch.ones([size + 1 - contiguous for size in sizes], requires_grad=True) * 1
    return larger[tuple(slice(size) for size in sizes)]


def _raises(terms: list[str], out: str, at: int, contiguous: bool) -> bool:
    """Does backward raise once the operand has been written to?"""
    operands = [_operand(term, contiguous) for term in terms]
    result = torch.einsum(f"{','.join(terms)}->{out}", *operands)
    with torch.no_grad():
        operands[at].mul_(1)
    try:
        result.sum().backward()  # type: ignore[no-untyped-call]
    except RuntimeError:
        return True
    return False


@pytest.mark.parametrize("contiguous", [True, False])
def test_an_operand_is_saved_itself_where_pytorch_saves_it(contiguous: bool) -> None:
    draw = random.Random(5)
    answers = set()
    for _ in range(150):
        terms = ["".join(draw.sample("abcd", draw.randint(1, 4))) for _ in range(2)]
        labels = sorted({*terms[0], *terms[1]})
        out = "".join(draw.sample(labels, draw.randint(0, len(labels))))
        for at in (0, 1):
            expected = _raises(terms, out, at, contiguous)
            assert is_saved(terms[at], terms[1 - at], out, contiguous) is expected, (terms, out, at)
            answers.add(expected)
    assert answers == {True, False}
