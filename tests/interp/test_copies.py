"""Copies of records have numbers of their own, and refer to each other as the originals do."""

from __future__ import annotations

from gradcheck_tool.domain.graph import GraphCut, Storage, Tensor
from gradcheck_tool.domain.records import Frame, Instance, List
from gradcheck_tool.domain.values import Const, LibraryObject, Ref, Symbol, Tup, fresh
from gradcheck_tool.interp.copies import Names, within
from gradcheck_tool.ir.lower import lower_module


def test_what_was_there_before_keeps_its_number() -> None:
    old, start = Ref(fresh()), fresh()
    new = Ref(fresh())
    names = Names(start, {})
    assert names(old) is old
    assert names(new) == names(new) != new


def test_numbers_may_be_given() -> None:
    given, start = fresh(), fresh()
    assert Names(start, {given: 7})(Symbol(("attr", Symbol(given), "x"))) == Symbol(("attr", Symbol(7), "x"))


def test_a_value_without_numbers_is_the_very_same() -> None:
    names = Names(fresh(), {})
    for value in (Const(1), LibraryObject("torch.ones"), (Const(1), Const(2))):
        assert names(value) is value


def test_records_lead_to_the_copies_of_each_other_in_the_same_order() -> None:
    start = fresh()
    storage, tensor, holder = (Ref(fresh()) for _ in range(3))
    cut = GraphCut("detach", tensor, "", None, (), storage=storage)
    made = {tensor.id: Tensor(storage), storage.id: Storage(), holder.id: List([tensor, tensor])}
    made[tensor.id].severed = (cut, cut)  # type: ignore[attr-defined]
    copies = list(Names(start, {}).records(made, object()).items())
    (first, memory), (second, copy), (_, listed) = copies
    assert [number for number, _ in copies] == sorted(number for number, _ in copies)
    assert copy.storage == Ref(first)  # type: ignore[attr-defined]
    assert listed.items == [Ref(second), Ref(second)]  # type: ignore[attr-defined]
    one, other = copy.severed  # type: ignore[attr-defined]
    assert (one is other, one is cut, one.storage) == (True, False, Ref(first))
    assert memory.version != made[storage.id].version  # type: ignore[attr-defined]


def test_a_closure_gets_the_variables_and_forgets_the_loops() -> None:
    start = fresh()
    frame, itself = Frame(lower_module("pass", "p.py").body, None, None), Ref(fresh())
    frame.locals["self"], frame.iterations[0], frame.entry[0] = itself, 3, {}
    ((_, made), (number, _)) = (
        Names(start, {})
        .records({itself.id - 1: frame, itself.id: Instance(LibraryObject("torch.nn.Module"))}, object())
        .items()
    )
    assert made.locals == {"self": Ref(number)}  # type: ignore[attr-defined]
    assert (made.iterations, made.entry) == ({}, {})  # type: ignore[attr-defined]


def test_parts_of_values_are_found() -> None:
    assert set(
        within([{Symbol(1): Tup((Ref(2),))}, frozenset({Ref(3)}), [Symbol(("attr", Ref(4), "x"))]])
    ) == {
        Symbol(1),
        Ref(2),
        Ref(3),
        Symbol(("attr", Ref(4), "x")),
        Ref(4),
    }
