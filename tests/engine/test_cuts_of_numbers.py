"""What numbers and arrays were cut off from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, Ref, Symbol, Tup
from gradcheck_tool.engine.cuts import cut_to_array, cut_to_number, cuts_within, inherit, inherit_deep
from gradcheck_tool.engine.tensors import new_tensor
from tests.running import events

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor

NUMBER, OTHER = Symbol("number"), Symbol("other")


def leaf(s: State, requires_grad: bool = True) -> Ref:
    return new_tensor(s, None, requires_grad=requires_grad, name="x")


def test_a_number_is_cut_off_from_the_tensor_that_it_is_made_of() -> None:
    s = State()
    source = leaf(s)
    cut_to_number(s, source, NUMBER, "x.item()", None)
    (cut,) = s.severed[NUMBER]
    assert (cut.kind, cut.tensor, cut.sources) == ("item", "x", (source,))
    cut_to_number(s, leaf(s, requires_grad=False), OTHER, "x.item()", None)
    assert OTHER not in s.severed


def test_two_ways_through_a_program_differ_in_it() -> None:
    s = State()
    other = s.fork()
    cut_to_number(s, leaf(s), NUMBER, "x.item()", None)
    assert NUMBER in s.fork().severed
    assert NUMBER not in other.severed


def test_what_is_computed_from_a_number_was_cut_off_from_the_same() -> None:
    s = State()
    cut_to_number(s, leaf(s), NUMBER, "x.item()", None)
    double = inherit(s, Symbol(("op", "*", NUMBER, Const(2))), (NUMBER, Const(2)))
    assert s.severed[double] == s.severed[NUMBER]
    inherit(s, OTHER, (Const(2), Tup((NUMBER,))))
    assert OTHER not in s.severed
    assert inherit(s, Const(1), (NUMBER,)) == Const(1)
    assert Const(1) not in s.severed


def test_lists_and_constant_tensors_hand_on_their_cuts() -> None:
    s = State()
    source, copy = leaf(s), leaf(s, requires_grad=False)
    cut_to_number(s, source, NUMBER, "x.item()", None)
    assert cuts_within(s, Tup((Const(1), NUMBER))) == s.severed[NUMBER]
    assert cuts_within(s, Tup((Tup((Tup((NUMBER,)),)),))) == ()
    constant: Tensor = s.edit(copy)
    constant.severed = s.severed[NUMBER]
    row = s.new(List([copy, NUMBER]))
    inherit_deep(s, OTHER, (row,))
    assert s.severed[OTHER] == s.severed[NUMBER]


def test_an_array_of_a_constant_is_cut_off_from_what_made_the_constant() -> None:
    s = State()
    cut_to_number(s, leaf(s), NUMBER, "x.item()", None)
    constant: Tensor = s.edit(leaf(s, requires_grad=False))
    constant.severed = s.severed[NUMBER]
    cut_to_array(s, constant, OTHER, "y.numpy()", None)
    assert [cut.kind for cut in s.severed[OTHER]] == ["numpy"]
    assert s.severed[OTHER][0].sources == s.severed[NUMBER][0].sources


def test_a_call_with_a_number_that_was_cut_off_is_no_repetition_of_one_without() -> None:
    source = """
import torch
w = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
def scaled(x):
    return 0.5 * x
rates = [scaled(torch.rand(2).sum().item()) for _ in range(3)]
loss = v.sum() + scaled(w.sum().item())
loss.backward()
"""
    (event,) = events(source, "BackwardCall")
    assert [term.kind for term in event.constant_terms] == ["item"]
