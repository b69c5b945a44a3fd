"""Losses whose two sides have different sizes: they are broadcast, and the loss is over all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import BroadcastLoss
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import Ref, Value
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.places import text_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.library.torch.sizes import Tensors

# Losses that take sides of different sizes, with a warning.
LENIENT = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "mseloss", "l1loss", "smoothl1loss", "huberloss"}
)


def check(m: Interpreter, s: State, leaf: str, tensors: Tensors, site: Site, text: object) -> None:
    """A loss is computed: are its sides certainly of different sizes, neither of them a single number?"""
    output, target = tensors.get("input"), tensors.get("target")
    if leaf not in LENIENT or not isinstance(output, Ref) or not isinstance(target, Ref):
        return
    sides: list[Tensor] = [s[output], s[target]]
    shapes = [side.shape for side in sides]
    if not _differ(shapes[0], shapes[1]) or any(numel_is_one(shape) for shape in shapes):
        return
    if ("sizes", id(site.node)) not in m.noted:
        m.noted.add(("sizes", id(site.node)))
        given = [text_of(site, argument.value) for argument in getattr(site.node, "args", ())[:2]]
        names = given if len(given) == 2 else [str(side.name) for side in sides]
        m.emit(_event(sides, names, site, text, warns=True))


def _event(sides: list[Tensor], names: list[str], site: Site, text: object, warns: bool) -> BroadcastLoss:
    sizes = [_written(side.shape) for side in sides]
    return BroadcastLoss(
        site=site, call=str(text), first=names[0], second=names[1], sizes=(sizes[0], sizes[1]), warns=warns
    )


def _differ(a: Shape, b: Shape) -> bool:
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(
        x is not None and y is not None and x != y for x, y in zip(a, b, strict=True)
    )


def _written(shape: Shape) -> str:
    """A shape as Python writes it, with `N` for what is not known."""
    sizes = ["N" if size is None else str(size) for size in shape or ()]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def note_difference(m: Interpreter, s: State, left: Value, right: Value, result: Value, site: Site) -> None:
    """`a - b` of a layer's output of one column and a vector as long subtracts every pair of elements."""
    made = s.get(result, Tensor)
    sides = [s.get(left, Tensor), s.get(right, Tensor)]
    if made is None or made.grad_fn is None or sides[0] is None or sides[1] is None:
        return
    column, row = sides if len(sides[0].shape or ()) == 2 else sides[::-1]
    assert column is not None
    assert row is not None
    if column.shape is None or row.shape is None or len(column.shape) != 2 or len(row.shape) != 1:
        return
    size = row.shape[0]
    is_output = (node := s.get(column.grad_fn, Node)) is not None and node.op == "linear"
    # How many there are in a batch of data is seldom known.
    is_long = size not in (None, 1) or (size is None and row.requires_grad is False)
    if is_output and is_long and column.shape == (size, 1):
        field = "left" if row is sides[0] else "right"
        names = [str(column.name), str(row.name) or text_of(site, getattr(site.node, field, site.node))]
        text = m.label(s, site.node)
        m.ledger.pairs[made.grad_fn.id] = _event([column, row], names, site, text, warns=False)


def note_pass(m: Interpreter, p: BackwardPass) -> None:
    """Such a difference is back-propagated: it belongs to a loss."""
    for ref in p.ran if m.ledger.pairs else ():
        event = m.ledger.pairs.pop(ref.id, None)
        if event is not None and ("sizes", id(event.site.node)) not in m.noted:
            m.noted.add(("sizes", id(event.site.node)))
            m.emit(event)
