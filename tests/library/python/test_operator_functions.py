"""Operators that are called by name."""

from __future__ import annotations

from tests.cases import check_raises, each

# Programs that raise.
RAISING = {
    "operators called by name write": """
import operator
h = w * 1.0
y = h.exp() * h
operator.iadd(h, 1.0)
y.sum().backward()
""",
    "methods of augmented assignment write": """
h = w * 1.0
y = h.exp() * h
h.__setitem__(0, 1.0)
y.sum().backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)
