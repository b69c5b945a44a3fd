"""Lowering of expressions: operands left to right, then the operation, as Python evaluates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir.builder import FunctionBuilder, lowers
from gradcheck_tool.ir.literals import number_value
from gradcheck_tool.ir.nodes import (
    ArgKind,
    Argument,
    Await,
    BinOp,
    Block,
    BuildDict,
    BuildList,
    BuildSet,
    BuildSlice,
    BuildTuple,
    Call,
    Compare,
    Copy,
    FunctionKind,
    GetAttr,
    GetItem,
    Reg,
    UnaryOp,
    Yield,
    YieldFrom,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONSTANTS = {"None": None, "True": True, "False": False, "__debug__": True}

BINARY_OPERATORS: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.MatrixMultiply: "@",
    cst.Power: "**",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
}

_UNARY_OPERATORS: dict[type[cst.CSTNode], str] = {
    cst.Minus: "-",
    cst.Plus: "+",
    cst.BitInvert: "~",
    cst.Not: "not",
}

_COMPARISONS: dict[type[cst.CSTNode], str] = {
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.Is: "is",
    cst.IsNot: "is-not",
    cst.In: "in",
    cst.NotIn: "not-in",
}


@lowers(cst.Name)
def _name(b: FunctionBuilder, node: cst.Name) -> Reg:
    name = node.value
    if name in _CONSTANTS:
        return b.const(node, _CONSTANTS[name])
    return b.load(node, name)


@lowers(cst.Attribute)
def _attribute(b: FunctionBuilder, node: cst.Attribute) -> Reg:
    obj = b.expr(node.value)
    dst = b.reg()
    b.emit(GetAttr(node, dst, obj, b.mangled(node.attr.value)))
    return dst


@lowers(cst.Subscript)
def _subscript(b: FunctionBuilder, node: cst.Subscript) -> Reg:
    obj = b.expr(node.value)
    index = lower_index(b, node)
    dst = b.reg()
    b.emit(GetItem(node, dst, obj, index))
    return dst


def lower_index(b: FunctionBuilder, node: cst.Subscript) -> Reg:
    """The index of a subscript: one value, a slice, or a tuple of them."""
    elements = node.slice
    first = elements[0]
    if len(elements) == 1 and not isinstance(first.comma, cst.Comma) and not _is_starred(first):
        return _slice(b, first.slice)
    items = [(_slice(b, element.slice), _is_starred(element)) for element in elements]
    dst = b.reg()
    b.emit(BuildTuple(node, dst, items))
    return dst


def _is_starred(element: cst.SubscriptElement) -> bool:
    return isinstance(element.slice, cst.Index) and element.slice.star is not None


def _slice(b: FunctionBuilder, node: cst.BaseSlice) -> Reg:
    if isinstance(node, cst.Index):
        return b.expr(node.value)
    assert isinstance(node, cst.Slice)
    lower, upper, step = (b.expr(part) if part else None for part in (node.lower, node.upper, node.step))
    dst = b.reg()
    b.emit(BuildSlice(node, dst, lower, upper, step))
    return dst


@lowers(cst.Call)
def _call(b: FunctionBuilder, node: cst.Call) -> Reg:
    func = b.expr(node.func)
    args = lower_arguments(b, node.args)
    dst = b.reg()
    b.emit(Call(node, dst, func, args))
    return dst


def lower_arguments(b: FunctionBuilder, args: Sequence[cst.Arg]) -> list[Argument]:
    """Arguments in the order Python evaluates them: `f(k=1, *a)` evaluates `a` first."""
    lowered: list[Argument] = []
    named: list[cst.Arg] = []
    for arg in args:
        if arg.keyword is not None or arg.star == "**":
            named.append(arg)
        else:
            kind = ArgKind.STAR if arg.star else ArgKind.POSITIONAL
            lowered.append(Argument(b.expr(arg.value), kind, None, arg))
    for arg in named:
        value = b.expr(arg.value)
        if arg.keyword is None:
            lowered.append(Argument(value, ArgKind.DOUBLE_STAR, None, arg))
        else:
            lowered.append(Argument(value, ArgKind.KEYWORD, arg.keyword.value, arg))
    return lowered


@lowers(cst.BinaryOperation)
def _binary(b: FunctionBuilder, node: cst.BinaryOperation) -> Reg:
    # `a + b + c + ...` nests to the left, as deep as the sum is long.
    spine = [node]
    while isinstance(spine[-1].left, cst.BinaryOperation):
        spine.append(spine[-1].left)
    left = b.expr(spine[-1].left)
    for operation in reversed(spine):
        right = b.expr(operation.right)
        dst = b.reg()
        b.emit(BinOp(operation, dst, BINARY_OPERATORS[type(operation.operator)], left, right))
        left = dst
    return left


@lowers(cst.UnaryOperation)
def _unary(b: FunctionBuilder, node: cst.UnaryOperation) -> Reg:
    operator = type(node.operator)
    if operator is cst.Minus:
        value = number_value(node.expression, -1)
        if value is not None:
            return b.const(node, value)
    operand = b.expr(node.expression)
    dst = b.reg()
    b.emit(UnaryOp(node, dst, _UNARY_OPERATORS[operator], operand))
    return dst


def _compare(b: FunctionBuilder, node: cst.Comparison, left: Reg, target: cst.ComparisonTarget) -> list[Reg]:
    """One link of a chain: the registers of the result and of the right operand."""
    right = b.expr(target.comparator)
    dst = b.reg()
    b.emit(Compare(node, dst, _COMPARISONS[type(target.operator)], left, right))
    return [dst, right]


@lowers(cst.Comparison)
def _comparison(b: FunctionBuilder, node: cst.Comparison) -> Reg:
    left = b.expr(node.left)
    *links, last = node.comparisons
    if not links:
        return _compare(b, node, left, last)[0]
    dst, end = b.reg(), b.new_block()
    for link in links:
        result, left = _compare(b, node, left, link)
        b.emit(Copy(node, dst, result))
        more = b.new_block()
        b.branch(node, result, more, end)
        b.place(more)
    b.emit(Copy(node, dst, _compare(b, node, left, last)[0]))
    b.continue_in(node, end)
    return dst


def _operands(node: cst.BooleanOperation) -> list[cst.BaseExpression]:
    """`a and b and c`, which nests to the left, as one list."""
    operator = type(node.operator)
    operands: list[cst.BaseExpression] = []
    rest: cst.BaseExpression = node
    while isinstance(rest, cst.BooleanOperation) and type(rest.operator) is operator:
        operands.append(rest.right)
        rest = rest.left
    operands.append(rest)
    return operands[::-1]


@lowers(cst.BooleanOperation)
def _boolean(b: FunctionBuilder, node: cst.BooleanOperation) -> Reg:
    is_and = isinstance(node.operator, cst.And)
    *operands, last = _operands(node)
    dst, end = b.reg(), b.new_block()
    for operand in operands:
        value = b.expr(operand)
        b.emit(Copy(operand, dst, value))
        more = b.new_block()
        b.branch(operand, value, *((more, end) if is_and else (end, more)))
        b.place(more)
    b.emit(Copy(last, dst, b.expr(last)))
    b.continue_in(node, end)
    return dst


def lower_condition(b: FunctionBuilder, node: cst.BaseExpression, then: Block, otherwise: Block) -> None:
    """Branch on an expression; `and`, `or`, `not` and chained comparisons become branches."""
    while isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        node, then, otherwise = node.expression, otherwise, then
    if isinstance(node, cst.BooleanOperation):
        is_and = isinstance(node.operator, cst.And)
        *operands, node = _operands(node)
        for operand in operands:
            more = b.new_block()
            lower_condition(b, operand, *((more, otherwise) if is_and else (then, more)))
            b.place(more)
        lower_condition(b, node, then, otherwise)
    elif isinstance(node, cst.Comparison):
        left = b.expr(node.left)
        *links, last = node.comparisons
        for link in links:
            result, left = _compare(b, node, left, link)
            more = b.new_block()
            b.branch(node, result, more, otherwise)
            b.place(more)
        b.branch(node, _compare(b, node, left, last)[0], then, otherwise)
    else:
        b.branch(node, b.expr(node), then, otherwise)


@lowers(cst.IfExp)
def _conditional(b: FunctionBuilder, node: cst.IfExp) -> Reg:
    dst = b.reg()
    then, otherwise, end = b.new_block(), b.new_block(), b.new_block()
    lower_condition(b, node.test, then, otherwise)
    b.place(then)
    b.emit(Copy(node.body, dst, b.expr(node.body)))
    b.jump(node, end)
    b.place(otherwise)
    b.emit(Copy(node.orelse, dst, b.expr(node.orelse)))
    b.continue_in(node, end)
    return dst


def _items(b: FunctionBuilder, elements: Sequence[cst.BaseElement]) -> list[tuple[Reg, bool]]:
    return [(b.expr(element.value), isinstance(element, cst.StarredElement)) for element in elements]


@lowers(cst.Tuple, cst.List, cst.Set)
def _sequence(b: FunctionBuilder, node: cst.Tuple | cst.List | cst.Set) -> Reg:
    items = _items(b, node.elements)
    dst = b.reg()
    build: Any = {cst.Tuple: BuildTuple, cst.List: BuildList, cst.Set: BuildSet}[type(node)]
    b.emit(build(node, dst, items))
    return dst


@lowers(cst.Dict)
def _dict(b: FunctionBuilder, node: cst.Dict) -> Reg:
    items: list[tuple[Reg | None, Reg]] = []
    for element in node.elements:
        key = b.expr(element.key) if isinstance(element, cst.DictElement) else None
        items.append((key, b.expr(element.value)))
    dst = b.reg()
    b.emit(BuildDict(node, dst, items))
    return dst


@lowers(cst.NamedExpr)
def _walrus(b: FunctionBuilder, node: cst.NamedExpr) -> Reg:
    value = b.expr(node.value)
    assert isinstance(node.target, cst.Name)
    b.store_outside_comprehension(node.target, node.target.value, value)
    return value


@lowers(cst.Await)
def _await(b: FunctionBuilder, node: cst.Await) -> Reg:
    return lower_await(b, node, b.expr(node.expression))


def lower_await(b: FunctionBuilder, node: cst.CSTNode, value: Reg) -> Reg:
    """Await a value; a comprehension that does so is asynchronous itself."""
    if b.function.kind is FunctionKind.COMPREHENSION:
        b.function.is_async = True
    dst = b.reg()
    b.emit(Await(node, dst, value))
    return dst


@lowers(cst.Yield)
def _yield(b: FunctionBuilder, node: cst.Yield) -> Reg:
    b.function.is_generator = True
    if isinstance(node.value, cst.From):
        source = b.expr(node.value.item)
        dst = b.reg()
        b.emit(YieldFrom(node, dst, source))
    else:
        value = b.expr(node.value) if node.value is not None else None
        dst = b.reg()
        b.emit(Yield(node, dst, value))
    return dst
