"""A map between what two states made since they parted: one to one, or none."""

from __future__ import annotations

from gradcheck_tool.domain.isomorphism import Isomorphism
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import Const, Ref, Symbol, Tup
from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "only one of two ways writes to what is saved": """
import os
import torch
w, c = torch.ones(3, requires_grad=True), torch.ones(3)
loss = (w * c).sum()
if os.environ.get("SET_NOWHERE"):
    pass
else:
    c.mul_(2)
loss.backward()  # raises
""",
    "a function that writes to what is saved, or returns before": """
import os
import torch
def scaled(c, skips):
    if skips:
        return c
    c.mul_(2)
    return c
w, c = torch.ones(3, requires_grad=True), torch.ones(3)
loss = (w * c).sum()
scaled(c, bool(os.environ.get("SET_NOWHERE")))
loss.backward()  # raises
""",
    "both ways write before anything is saved": """
import os
import torch
w, c = torch.ones(3, requires_grad=True), torch.ones(3)
if os.environ.get("SET_NOWHERE"):
    c.mul_(2)
else:
    c.add_(2)
(w * c).sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


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
    assert not naming.records(a[x], b[p], naming.todo[0])


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
