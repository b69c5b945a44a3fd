"""Constants remember what they were cut off from, and hand it on to what is computed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.domain.records import Frame
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine.cuts import MAX_CUTS, cut_off, cuts_of, write_off
from gradcheck_tool.engine.tensors import new_tensor
from tests.engine.twin import MODULE, SITE

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.values import Ref


@pytest.fixture
def s() -> State:
    state = State()
    state.frames.append(state.new(Frame(MODULE.body, None, None)))
    return state


def constant(s: State, kind: str, *sources: Ref) -> Ref:
    ref = new_tensor(s, SITE)
    cut_off(s, s[ref], kind, sources, SITE, "call")
    return ref


def test_a_constant_names_the_edges_behind_it(s: State) -> None:
    leaf = new_tensor(s, SITE, requires_grad=True, name="w")
    (cut,) = cuts_of(s, constant(s, "detach", leaf))
    assert (cut.kind, cut.tensor, cut.sources) == ("detach", "w", (leaf,))


def test_what_requires_no_grad_is_cut_off_from_nothing(s: State) -> None:
    assert cuts_of(s, constant(s, "detach", new_tensor(s, SITE))) == ()
    assert cuts_of(s, new_tensor(s, SITE, requires_grad=True)) == ()


def test_a_constant_computed_from_constants_has_the_cuts_of_all(s: State) -> None:
    leaves = [new_tensor(s, SITE, requires_grad=True, name=name) for name in "ab"]
    parts = [constant(s, "item", leaf) for leaf in leaves]
    assert [cut.tensor for cut in cuts_of(s, constant(s, "", *parts))] == ["a", "b"]


def test_there_is_a_limit_and_the_latest_cuts_are_kept(s: State) -> None:
    leaves = [new_tensor(s, SITE, requires_grad=True, name=str(at)) for at in range(MAX_CUTS + 2)]
    found = cuts_of(s, constant(s, "", *(constant(s, "detach", leaf) for leaf in leaves)))
    assert [cut.tensor for cut in found] == [str(at) for at in range(2, MAX_CUTS + 2)]


@pytest.mark.parametrize(("whole", "kept"), [(True, ["b"]), (False, ["a", "b"])])
def test_a_write_over_all_values_replaces_what_the_memory_was_cut_off_from(
    s: State, whole: bool, kept: list[str]
) -> None:
    target = new_tensor(s, SITE)
    for name in "ab":
        leaf = new_tensor(s, SITE, requires_grad=True, name=name)
        write_off(s, target, "no-grad", [leaf], SITE, "copy_", whole)
    record: Tensor = s[target]
    assert record.severed == ()
    assert [cut.tensor for cut in cuts_of(s, target)] == kept
