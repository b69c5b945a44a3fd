"""Which operands `einsum` saves."""

from __future__ import annotations

import random

import pytest
import torch

from gradcheck_tool.library.torch.contraction import is_saved
from tests.cases import check_agreement, check_raises, check_runs, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "einsum copies what it has to reorder": """
import torch
w = torch.ones(2, 5, 3, 4, requires_grad=True)
query, key = w * 2, w * 3
scores = torch.einsum("bqhd,bkhd->bhqk", query, key)
key.mul_(2)
scores.sum().backward()
""",
    "einsum adds up at once what only one operand has": """
import torch
w = torch.ones(5, requires_grad=True)
rows, columns = w * 2, w * 3
total = torch.einsum("q,k->q", rows, columns)
columns.mul_(2)
total.sum().backward()
""",
    "einsum saves a part of a buffer that is filled later": """
import torch
w = torch.ones(2, 3, requires_grad=True)
cache = torch.zeros(2, 4, 3)
cache[:, 0] = w * 2
seen = torch.einsum("bd,btd->bt", w * 3, cache[:, :1])
cache[:, 1] = w * 4
seen.sum().backward()  # raises
""",
    "einsum without an arrow": """
import torch
w = torch.ones(2, 2, requires_grad=True)
left, right = w * 2, w * 3
product = torch.einsum("ij,jk", left, right)
right.mul_(2)
product.sum().backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "einsum saves an operand where another one requires grad": """
c = torch.rand(3)
y = torch.einsum("ij,j->i", m, c)
c.add_(1.0)
y.sum().backward()
""",
}

# Programs that run.
RUNNING = {
    "einsum saves no operand that alone requires grad": """
c = torch.rand(3)
h = m * 1.0
y = torch.einsum("ij,j->i", h, c)
h.add_(1.0)
y.sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


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
