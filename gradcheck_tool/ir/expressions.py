"""Lowering of expressions: operands left to right, then the operation, as Python evaluates them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.builder import FunctionBuilder, lowers
from gradcheck_tool.ir.literals import number_value, string_value
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
    from collections.abc import Iterator, Sequence

_CONSTANTS = {"None": None, "True": True, "False": False, "__debug__": True}

BINARY_OPERATORS: dict[str, str] = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "FloorDivide": "//",
    "Modulo": "%",
    "MatrixMultiply": "@",
    "Power": "**",
    "LeftShift": "<<",
    "RightShift": ">>",
    "BitAnd": "&",
    "BitOr": "|",
    "BitXor": "^",
}

_UNARY_OPERATORS: dict[str, str] = {
    "Minus": "-",
    "Plus": "+",
    "BitInvert": "~",
    "Not": "not",
}

_COMPARISONS: dict[str, str] = {
    "LessThan": "<",
    "LessThanEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanEqual": ">=",
    "Equal": "==",
    "NotEqual": "!=",
    "Is": "is",
    "IsNot": "is-not",
    "In": "in",
    "NotIn": "not-in",
}


@lowers(syntax.Name)
def _name(b: FunctionBuilder, node: syntax.Name) -> Reg:
    name = node.value
    if name in _CONSTANTS:
        return b.const(node, _CONSTANTS[name])
    return b.load(node, name)


@lowers(syntax.Attribute)
def _attribute(b: FunctionBuilder, node: syntax.Attribute) -> Reg:
    obj = b.expr(node.value)
    dst = b.reg()
    b.emit(GetAttr(node, dst, obj, b.mangled(node.attr.value)))
    return dst


@lowers(syntax.Subscript)
def _subscript(b: FunctionBuilder, node: syntax.Subscript) -> Reg:
    obj = b.expr(node.value)
    index = lower_index(b, node)
    dst = b.reg()
    b.emit(GetItem(node, dst, obj, index))
    return dst


def lower_index(b: FunctionBuilder, node: syntax.Subscript) -> Reg:
    """The index of a subscript: one value, a slice, or a tuple of them."""
    elements = node.slice
    first = elements[0]
    if len(elements) == 1 and not isinstance(first.comma, syntax.Comma) and not _is_starred(first):
        return _slice(b, first.slice)
    items = [(_slice(b, element.slice), _is_starred(element)) for element in elements]
    dst = b.reg()
    b.emit(BuildTuple(node, dst, items))
    return dst


def _is_starred(element: syntax.SubscriptElement) -> bool:
    return isinstance(element.slice, syntax.Index) and element.slice.star is not None


def _slice(b: FunctionBuilder, node: syntax.BaseSlice) -> Reg:
    if isinstance(node, syntax.Index):
        return b.expr(node.value)
    assert isinstance(node, syntax.Slice)
    lower, upper, step = (b.expr(part) if part else None for part in (node.lower, node.upper, node.step))
    dst = b.reg()
    b.emit(BuildSlice(node, dst, lower, upper, step))
    return dst


@lowers(syntax.Call)
def _call(b: FunctionBuilder, node: syntax.Call) -> Reg:
    func = b.expr(node.func)
    args = lower_arguments(b, node.args)
    dst = b.reg()
    b.emit(Call(node, dst, func, args))
    return dst


def lower_arguments(b: FunctionBuilder, args: Sequence[syntax.Arg]) -> list[Argument]:
    """Arguments in the order Python evaluates them: `f(k=1, *a)` evaluates `a` first."""
    lowered: list[Argument] = []
    named: list[syntax.Arg] = []
    for arg in args:
        if arg.keyword is not None or arg.star == "**":
            named.append(arg)
        elif arg.star:
            lowered += _starred(b, arg, arg.value)
        else:
            lowered.append(Argument(b.expr(arg.value), ArgKind.POSITIONAL, None, arg))
    keywords = {arg.keyword.value for arg in named if arg.keyword is not None}
    for arg in named:
        if arg.keyword is not None:
            lowered.append(Argument(b.expr(arg.value), ArgKind.KEYWORD, arg.keyword.value, arg))
            continue
        given = _keywords_of(arg.value)
        if given is not None and keywords.isdisjoint(given):
            lowered += [Argument(b.expr(value), ArgKind.KEYWORD, key, arg) for key, value in given.items()]
            keywords.update(given)
        else:
            lowered.append(Argument(b.expr(arg.value), ArgKind.DOUBLE_STAR, None, arg))
    return lowered


def _starred(b: FunctionBuilder, arg: syntax.Arg, value: syntax.CSTNode) -> Iterator[Argument]:
    """`*value`: the items of a display are arguments each, as `f(*(a, b))` is `f(a, b)`."""
    if not isinstance(value, (syntax.Tuple, syntax.List)):
        yield Argument(b.expr(value), ArgKind.STAR, None, arg)
        return
    for element in value.elements:
        if isinstance(element, syntax.StarredElement):
            yield from _starred(b, arg, element.value)
        else:
            yield Argument(b.expr(element.value), ArgKind.POSITIONAL, None, arg)


def _keywords_of(value: syntax.CSTNode) -> dict[str, syntax.BaseExpression] | None:
    """The keywords that `**value` gives where that is a display of different texts: `**{"k": 1}` is `k=1`."""
    if not isinstance(value, syntax.Dict):
        return None
    given: dict[str, syntax.BaseExpression] = {}
    for element in value.elements:
        if not isinstance(element, syntax.DictElement) or not isinstance(element.key, syntax.SimpleString):
            return None
        key = string_value(element.key)
        if not isinstance(key, str) or key in given:
            return None
        given[key] = element.value
    return given


@lowers(syntax.BinaryOperation)
def _binary(b: FunctionBuilder, node: syntax.BinaryOperation) -> Reg:
    # `a + b + c + ...` nests to the left, as deep as the sum is long.
    spine = [node]
    while isinstance(spine[-1].left, syntax.BinaryOperation):
        spine.append(spine[-1].left)
    left = b.expr(spine[-1].left)
    for operation in reversed(spine):
        right = b.expr(operation.right)
        dst = b.reg()
        b.emit(BinOp(operation, dst, BINARY_OPERATORS[type(operation.operator).__name__], left, right))
        left = dst
    return left


@lowers(syntax.UnaryOperation)
def _unary(b: FunctionBuilder, node: syntax.UnaryOperation) -> Reg:
    operator = type(node.operator).__name__
    if operator == "Minus":
        value = number_value(node.expression, -1)
        if value is not None:
            return b.const(node, value)
    operand = b.expr(node.expression)
    dst = b.reg()
    b.emit(UnaryOp(node, dst, _UNARY_OPERATORS[operator], operand))
    return dst


def _compare(
    b: FunctionBuilder, node: syntax.Comparison, left: Reg, target: syntax.ComparisonTarget
) -> list[Reg]:
    """One link of a chain: the registers of the result and of the right operand."""
    right = b.expr(target.comparator)
    dst = b.reg()
    b.emit(Compare(node, dst, _COMPARISONS[type(target.operator).__name__], left, right))
    return [dst, right]


@lowers(syntax.Comparison)
def _comparison(b: FunctionBuilder, node: syntax.Comparison) -> Reg:
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


def _operands(node: syntax.BooleanOperation) -> list[syntax.BaseExpression]:
    """`a and b and c`, which nests to the left, as one list."""
    operator = type(node.operator).__name__
    operands: list[syntax.BaseExpression] = []
    rest: syntax.BaseExpression = node
    while isinstance(rest, syntax.BooleanOperation) and type(rest.operator).__name__ == operator:
        operands.append(rest.right)
        rest = rest.left
    operands.append(rest)
    return operands[::-1]


@lowers(syntax.BooleanOperation)
def _boolean(b: FunctionBuilder, node: syntax.BooleanOperation) -> Reg:
    is_and = isinstance(node.operator, syntax.And)
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


def lower_condition(b: FunctionBuilder, node: syntax.BaseExpression, then: Block, otherwise: Block) -> None:
    """Branch on an expression; `and`, `or`, `not` and chained comparisons become branches."""
    while isinstance(node, syntax.UnaryOperation) and isinstance(node.operator, syntax.Not):
        node, then, otherwise = node.expression, otherwise, then
    if isinstance(node, syntax.BooleanOperation):
        is_and = isinstance(node.operator, syntax.And)
        *operands, node = _operands(node)
        for operand in operands:
            more = b.new_block()
            lower_condition(b, operand, *((more, otherwise) if is_and else (then, more)))
            b.place(more)
        lower_condition(b, node, then, otherwise)
    elif isinstance(node, syntax.Comparison):
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


@lowers(syntax.IfExp)
def _conditional(b: FunctionBuilder, node: syntax.IfExp) -> Reg:
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


def _items(b: FunctionBuilder, elements: Sequence[syntax.BaseElement]) -> list[tuple[Reg, bool]]:
    return [(b.expr(element.value), isinstance(element, syntax.StarredElement)) for element in elements]


@lowers(syntax.Tuple, syntax.List, syntax.Set)
def _sequence(b: FunctionBuilder, node: syntax.Tuple | syntax.List | syntax.Set) -> Reg:
    items = _items(b, node.elements)
    dst = b.reg()
    build: Any = {"Tuple": BuildTuple, "List": BuildList, "Set": BuildSet}[type(node).__name__]
    b.emit(build(node, dst, items))
    return dst


@lowers(syntax.StarredElement)
def _star_alone(b: FunctionBuilder, node: syntax.StarredElement) -> Reg:
    """Parsers take `x = *y`, which is refused later, for what `x = *y,` is."""
    dst = b.reg()
    b.emit(BuildTuple(node, dst, [(b.expr(node.value), True)]))
    return dst


@lowers(syntax.Dict)
def _dict(b: FunctionBuilder, node: syntax.Dict) -> Reg:
    items: list[tuple[Reg | None, Reg]] = []
    for element in node.elements:
        key = b.expr(element.key) if isinstance(element, syntax.DictElement) else None
        items.append((key, b.expr(element.value)))
    dst = b.reg()
    b.emit(BuildDict(node, dst, items))
    return dst


@lowers(syntax.NamedExpr)
def _walrus(b: FunctionBuilder, node: syntax.NamedExpr) -> Reg:
    value = b.expr(node.value)
    assert isinstance(node.target, syntax.Name)
    b.store_outside_comprehension(node.target, node.target.value, value)
    return value


@lowers(syntax.Await)
def _await(b: FunctionBuilder, node: syntax.Await) -> Reg:
    return lower_await(b, node, b.expr(node.expression))


def lower_await(b: FunctionBuilder, node: syntax.CSTNode, value: Reg) -> Reg:
    """Await a value; a comprehension that does so is asynchronous itself."""
    if b.function.kind is FunctionKind.COMPREHENSION:
        b.function.is_async = True
    dst = b.reg()
    b.emit(Await(node, dst, value))
    return dst


@lowers(syntax.Yield)
def _yield(b: FunctionBuilder, node: syntax.Yield) -> Reg:
    b.function.is_generator = True
    if isinstance(node.value, syntax.From):
        source = b.expr(node.value.item)
        dst = b.reg()
        b.emit(YieldFrom(node, dst, source))
    else:
        value = b.expr(node.value) if node.value is not None else None
        dst = b.reg()
        b.emit(Yield(node, dst, value))
    return dst
