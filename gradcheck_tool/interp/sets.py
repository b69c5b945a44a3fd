"""The algebra of sets whose members are known: parameters of one part, and those of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import Const, Ref
from gradcheck_tool.interp import iteration as iterate

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value

OPERATORS = frozenset("|&-^")
METHODS = {"union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^"}


def combine(s: State, op: str, left: Value, right: Value) -> Value:
    """`left op right`, as far as the members are known; those whose identity is not may be any."""
    (mine, is_open), (other, may_hold_more) = iterate.elements(s, left), iterate.elements(s, right)
    ours, theirs = dict.fromkeys(mine), dict.fromkeys(other)
    are_told_apart = all(map(_is_one, (*ours, *theirs)))
    first = [item for item in ours if op == "|" or (item in theirs) is (op == "&")]
    second = [item for item in theirs if op in "|^" and item not in ours]
    return s.new(List([*first, *second], is_open or may_hold_more or not are_told_apart, "set"))


def is_without(s: State, container: Value, item: Value) -> bool:
    """Is something certainly no member of a set, where tensors are found by their identity?"""
    record = s.get(container, List)
    is_known = (
        record is not None and record.kind == "set" and not record.open and all(map(_is_one, record.items))
    )
    return is_known and s.get(item, Tensor) is not None and item not in record.items  # type: ignore[union-attr]


def _is_one(item: Value) -> bool:
    """Is it known which object a value is?"""
    return isinstance(item, (Const, Ref))
