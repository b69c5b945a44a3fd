"""Tests that pytest runs with certain values."""

from __future__ import annotations

import pytest

from tests.cases import HEAD
from tests.running import findings

PROGRAM = (
    HEAD
    + """
import pytest
{decorators}
def test_kinds(kind, size):
    x = torch.ones(2, requires_grad=True)
    if kind == "double":
        y = x * 2
    elif kind == "triple":
        y = x * 3
    else:
        y = x.detach()
    if size > 1:
        y = y.sum()
    else:
        y = y[0]
    y.backward()
"""
)
ROW = PROGRAM.count("\n")
ALL_RIGHT = [
    '@pytest.mark.parametrize("kind", ["double", "triple"])',
    '@pytest.mark.parametrize(("kind", "size"), [("double", 1), ("triple", 2)])',
    '@pytest.mark.parametrize("kind, size", [pytest.param("double", 1, id="one"), ("triple", 2)])',
    '@pytest.mark.parametrize("size", [1, 2])\n@pytest.mark.parametrize("kind", ["double", "triple"])',
]


@pytest.mark.parametrize("decorators", ALL_RIGHT)
def test_no_other_values_are_taken(decorators: str) -> None:
    assert findings(PROGRAM.format(decorators=decorators)) == []


@pytest.mark.parametrize("decorators", ALL_RIGHT)
def test_each_value_is_taken(decorators: str) -> None:
    wrong = decorators.replace('"triple"', '"none"')
    assert findings(PROGRAM.format(decorators=wrong)) == [(ROW + decorators.count("\n"), "GL501")]


@pytest.mark.parametrize(
    "decorator",
    [
        '@(kinds := pytest.mark.parametrize("kind", ["double"]))',
        '@pytest.mark.parametrize("kind", [{[]: 1}])',
        '@pytest.mark.parametrize("kind", ["double"])  # and no other',
    ],
)
def test_decorators_of_any_form_are_read(decorator: str) -> None:
    findings(PROGRAM.format(decorators=decorator))
