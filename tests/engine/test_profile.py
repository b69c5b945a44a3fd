"""What two descriptions of a call agree on; the rest is undecided."""

from __future__ import annotations

from gradcheck_tool.engine.profile import Output, Profile, join_or_none

TENSOR = (Output(dtype="float", differentiable=True),)


def test_profiles_that_are_the_same_agree_on_everything() -> None:
    one = Profile(outputs=TENSOR, saves={"self": None}, frees=True, tracked=("self",))
    assert join_or_none(one, one) == one
    assert join_or_none(None, one) is None


def test_what_only_one_of_two_saves_is_undecided() -> None:
    one = Profile(outputs=TENSOR, saves={"self": None, "out": None}, frees=True)
    other = Profile(outputs=TENSOR, saves={"self": None}, frees=False)
    joined = join_or_none(one, other)
    assert joined is not None
    assert joined.saves == {"self": None}
    assert joined.frees is None
    assert {"saves.out", "frees"} <= joined.undecided


def test_calls_that_return_other_things_agree_on_nothing() -> None:
    assert join_or_none(Profile(outputs=TENSOR), Profile(outputs=TENSOR * 2)) is None
    assert join_or_none(Profile(outputs=TENSOR), Profile(result="value", outputs=TENSOR)) is None
