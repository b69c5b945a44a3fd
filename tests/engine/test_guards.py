"""Guards of the op tables: which facts about the arguments of a call satisfy them."""

from __future__ import annotations

import pytest

from gradcheck_tool.engine.guards import ArgFact, guard_holds


@pytest.mark.parametrize(
    ("atom", "fact", "holds"),
    [
        ("tensor", "tensor.float.nd", True),
        ("tensor.float", "tensor.int", False),
        ("tensor.float.nd", "tensor.float", None),
        ("tensor", "unknown", None),
        ("number", ("const", 2), True),
        ("number.float", ("const", 2), False),
        ("number.int", ("const", True), True),
        ("bool", ("const", True), True),
        ("none", ("const", None), True),
        ("=2", ("const", 2), True),
        ("=2", ("const", 3), False),
        ("=2", "number.int", None),
        ("=2", "tensor", False),
        ("=true", ("const", 1), False),
        ("=[1, 2]", ("const", (1, 2)), True),
        ("list.number.int", ("const", (1, 2)), True),
        ("list.number.int", ("const", (1, 2.5)), False),
        ("absent", "absent", True),
    ],
)
def test_a_fact_satisfies_an_atom(atom: str, fact: ArgFact, holds: bool | None) -> None:
    assert guard_holds({"x": [atom]}, {}, {"x": fact}) is holds


def test_one_of_several_atoms_is_enough_and_all_parameters_must_hold() -> None:
    guard = {"x": ["none", "number"], "y": ["tensor"]}
    assert guard_holds(guard, {}, {"x": "number.int", "y": "tensor.int"}) is True
    assert guard_holds(guard, {}, {"x": "number.int", "y": "number"}) is False
    assert guard_holds(guard, {}, {"x": "unknown", "y": "tensor.int"}) is None
    assert guard_holds(guard, {}, {"x": "unknown", "y": "number"}) is False


def test_what_is_not_given_has_its_default() -> None:
    assert guard_holds({"x": ["=true"]}, {"x": True}, {}) is True
    assert guard_holds({"x": ["=true"]}, {"x": False}, {}) is False
    assert guard_holds({"x": ["=true"]}, {}, {}) is False
