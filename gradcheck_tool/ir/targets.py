"""What stands left of `=`: assignment to, augmented assignment of, and deletion of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.expressions import BINARY_OPERATORS, lower_index
from gradcheck_tool.ir.nodes import (
    DelAttr,
    DelItem,
    GetAttr,
    GetItem,
    InplaceOp,
    Reg,
    SetAttr,
    SetItem,
    Unpack,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.ir.builder import FunctionBuilder

_AUGMENTED_OPERATORS = {f"{kind}Assign": operator for kind, operator in BINARY_OPERATORS.items()}


def assign(b: FunctionBuilder, target: syntax.CSTNode, src: Reg, node: syntax.CSTNode | None = None) -> None:
    """Store `src` in a target; `node` is what a report on a store into an object underlines."""
    if isinstance(target, syntax.Name):
        b.store(target, target.value, src)
    elif isinstance(target, syntax.Attribute):
        obj = b.expr(target.value)
        b.emit(SetAttr(node or target, obj, b.mangled(target.attr.value), src))
    elif isinstance(target, syntax.Subscript):
        obj = b.expr(target.value)
        b.emit(SetItem(node or target, obj, lower_index(b, target), src))
    else:
        assert isinstance(target, syntax.Tuple | syntax.List | syntax.StarredElement)
        _unpack(b, target, src)


def _unpack(b: FunctionBuilder, target: syntax.Tuple | syntax.List | syntax.StarredElement, src: Reg) -> None:
    """Store parts. Parsers take `*x = y`, which is refused later, for what `*x, = y` is."""
    elements: Sequence[syntax.BaseElement]
    elements = [target] if isinstance(target, syntax.StarredElement) else target.elements
    star = next((i for i, element in enumerate(elements) if isinstance(element, syntax.StarredElement)), None)
    parts = [b.reg() for _ in elements]
    b.emit(Unpack(target, src, parts, star))
    for element, part in zip(elements, parts, strict=True):
        assign(b, element.value, part)


def augmented_assign(b: FunctionBuilder, node: syntax.AugAssign) -> None:
    """`target op= value`: the target's object and index are evaluated once."""
    target = node.target
    operator = _AUGMENTED_OPERATORS[type(node.operator).__name__]
    if isinstance(target, syntax.Name):
        old = b.load(target, target.value)
        b.store(node, target.value, _inplace(b, node, operator, old), augmented=True)
    elif isinstance(target, syntax.Attribute):
        obj, old, name = b.expr(target.value), b.reg(), b.mangled(target.attr.value)
        b.emit(GetAttr(target, old, obj, name))
        b.emit(SetAttr(node, obj, name, _inplace(b, node, operator, old), augmented=True))
    else:
        assert isinstance(target, syntax.Subscript)
        obj, index, old = b.expr(target.value), lower_index(b, target), b.reg()
        b.emit(GetItem(target, old, obj, index))
        b.emit(SetItem(node, obj, index, _inplace(b, node, operator, old), augmented=True))


def _inplace(b: FunctionBuilder, node: syntax.AugAssign, operator: str, old: Reg) -> Reg:
    value = b.expr(node.value)
    dst = b.reg()
    b.emit(InplaceOp(node, dst, operator, old, value))
    return dst


def delete(b: FunctionBuilder, target: syntax.CSTNode) -> None:
    """`del target`."""
    if isinstance(target, syntax.Name):
        b.delete(target, target.value)
    elif isinstance(target, syntax.Attribute):
        obj = b.expr(target.value)
        b.emit(DelAttr(target, obj, b.mangled(target.attr.value)))
    elif isinstance(target, syntax.Subscript):
        obj = b.expr(target.value)
        b.emit(DelItem(target, obj, lower_index(b, target)))
    else:
        assert isinstance(target, syntax.Tuple | syntax.List)
        for element in target.elements:
            delete(b, element.value)
