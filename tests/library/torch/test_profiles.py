"""What follows from a profile is the same each time, and of each profile and name its own."""

from __future__ import annotations

import pytest

from gradcheck_tool.engine import optable
from gradcheck_tool.library.torch.profiles import differentiable, effect_of


def profile(name: str, **facts: str):
    spec = optable.find(name)
    found = spec.resolve(facts)
    assert found is not None
    return spec, found


def test_facts_resolve_to_the_same_profile_again() -> None:
    spec, first = profile("torch.exp", input="tensor.float")
    assert spec.resolve({"input": "tensor.float"}) is first
    assert effect_of(first, "exp") is effect_of(first, "exp")
    assert differentiable(spec, first) is differentiable(spec, first)


@pytest.mark.parametrize("others", [(1, True), (1, 1.0), (0, False)])
def test_constants_that_are_equal_and_of_other_types_are_told_apart(others) -> None:
    spec = optable.find("torch.Tensor.sum")
    assert len({repr(value) for value in others}) == len(others)
    for value in others:
        spec.resolve({"self": "tensor.float.nd", "dim": ("const", value)})
    assert {dict(key).get("dim") for key in spec.known} >= {repr(("const", value)) for value in others}
