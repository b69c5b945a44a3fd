"""A map between what two states made since they parted: one to one, or none."""

from __future__ import annotations

from gradcheck_tool.domain.isomorphism import Isomorphism
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, Ref, Symbol, Tup


def parted() -> tuple[State, State, Ref]:
    """Two ways from the same beginning, which made a list."""
    s = State()
    ref = s.new(List())
    s.changed = set()
    return s, s.fork(), ref


def between(a: State, b: State, *, loose: bool = False) -> Isomorphism:
    return Isomorphism(a, b, loose, exact=False)


def test_new_records_are_paired_one_to_one() -> None:
    a, b, _ = parted()
    x, y = a.new(List()), a.new(List())
    p, q = b.new(List()), b.new(List())
    naming = between(a, b)
    assert naming.same(Tup((x, y, x)), Tup((p, q, p)))
    assert not between(a, b).same(Tup((x, y)), Tup((p, p)))
    assert not between(a, b).same(Tup((x, x)), Tup((p, q)))


def test_paired_records_are_compared_later() -> None:
    a, b, _ = parted()
    x, p = a.new(List([Const(1)])), b.new(List([Const(2)]))
    naming = between(a, b)
    assert naming.same(x, p)
    assert naming.todo == [(x.id, p.id)]
    assert not naming.records(a[x], b[p])


def test_what_both_have_is_itself() -> None:
    a, b, ref = parted()
    assert between(a, b).same(ref, ref)
    naming = between(a, b)
    assert not naming.same(ref, b.new(List()))
    assert naming.undecided


def test_symbols_are_renamed_one_to_one() -> None:
    a, b, _ = parted()
    assert between(a, b).same(Tup((Symbol(1), Symbol(2))), Tup((Symbol(8), Symbol(9))))
    assert not between(a, b).same(Tup((Symbol(1), Symbol(2))), Tup((Symbol(8), Symbol(8))))


def test_numbers_are_alike_in_a_loose_map_alone() -> None:
    a, b, _ = parted()
    assert not between(a, b).same(Const(1), Const(2))
    assert between(a, b, loose=True).same(Const(1), Const(2))
    assert not between(a, b, loose=True).same(Const(1), Tup(()))


def test_kinds_of_records_are_told_apart() -> None:
    a, b, _ = parted()
    assert not between(a, b).same(Tup((Const(1),)), Tup((Const(1), Const(1))))
    assert not between(a, b).same(Const(True), Const(1))
