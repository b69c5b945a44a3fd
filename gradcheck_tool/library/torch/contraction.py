"""Which operands `einsum` saves themselves: it orders their dimensions, and copies what that tears apart."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import Const, Ref

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.engine.profile import Profile
    from gradcheck_tool.library.torch.sizes import Tensors


def by_operand(
    s: State, profile: Profile, tensors: Tensors, equation: Value | list[Value] | None
) -> tuple[Profile, Tensors]:
    """An einsum of two operands as an operation with a parameter for each, which says what it saves.

    Of other einsums it is not known what they save: with three operands some of it is computed in between.
    """
    operands = tensors.get("operands")
    if operands is None or isinstance(operands, Ref):
        return profile, tensors
    terms, out = _parts(equation.value if isinstance(equation, Const) else None)
    if len(operands) != 2 or len(terms) != 2:
        return dataclasses.replace(profile, saves={}, dense=frozenset()), tensors
    saves = {
        name: (other,)
        for name, other, at in (("left", "right", 0), ("right", "left", 1))
        if is_saved(terms[at], terms[1 - at], out, s[operands[at]].contiguous is True)
    }
    names = ("left", "right")
    return (
        dataclasses.replace(
            profile,
            saves=saves,
            dense=frozenset(),
            apart=frozenset(names),
            tracked=names,
            second=dict.fromkeys(names, ("out",)),
        ),
        dict(zip(names, operands, strict=True)),
    )


def _parts(equation: object) -> tuple[list[str], str]:
    """The labels of each operand and of the result; none where some are to be filled in."""
    if not isinstance(equation, str) or "." in equation:
        return [], ""
    left, arrow, right = equation.replace(" ", "").partition("->")
    once = (label for label in set(left) - {","} if left.count(label) == 1)
    return left.split(","), right if arrow else "".join(sorted(once))


def is_saved(mine: str, other: str, out: str, is_contiguous: bool) -> bool:
    """Is the operand saved as a view of itself, and not as a copy?

    A batched product of matrices needs each group of dimensions (in both operands and the result, in one
    operand, summed over) as one dimension. Where nothing is summed over, it is a plain multiplication.
    """
    if len(set(mine)) != len(mine) or any(label not in other + out for label in mine):
        return False
    summed = [label for label in mine if label in other and label not in out]
    if not summed:
        return True
    batch = [label for label in mine if label in other and label in out]
    own = [label for label in mine if label not in other]
    order = out + "".join(sorted(summed))
    return all(
        len(group) < 2 or (is_contiguous and "".join(sorted(group, key=order.index)) in mine)
        for group in (batch, own, summed)
    )
