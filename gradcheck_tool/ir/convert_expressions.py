"""Conversion of expressions, f-strings and arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradcheck_tool.ir.conversion import Converter, converts, maker

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMA = cst.Comma()
_ASYNC = cst.Asynchronous()

BINARY = {
    "Add": "Add",
    "Sub": "Subtract",
    "Mult": "Multiply",
    "Div": "Divide",
    "FloorDiv": "FloorDivide",
    "Mod": "Modulo",
    "MatMult": "MatrixMultiply",
    "Pow": "Power",
    "LShift": "LeftShift",
    "RShift": "RightShift",
    "BitAnd": "BitAnd",
    "BitOr": "BitOr",
    "BitXor": "BitXor",
}
_OPERATORS: dict[str, cst.CSTNode] = {
    **{name: getattr(cst, kind)() for name, kind in BINARY.items()},
    "USub": cst.Minus(),
    "UAdd": cst.Plus(),
    "Invert": cst.BitInvert(),
    "Not": cst.Not(),
    "And": cst.And(),
    "Or": cst.Or(),
    "Lt": cst.LessThan(),
    "LtE": cst.LessThanEqual(),
    "Gt": cst.GreaterThan(),
    "GtE": cst.GreaterThanEqual(),
    "Eq": cst.Equal(),
    "NotEq": cst.NotEqual(),
    "Is": cst.Is(),
    "IsNot": cst.IsNot(),
    "In": cst.In(),
    "NotIn": cst.NotIn(),
}


def _operator(node: ast.AST) -> cst.CSTNode:
    return _OPERATORS[node.__class__.__name__]


# Names and literals

make_name = maker(cst.Name, "value")
_ATTRIBUTE = maker(cst.Attribute, "value", "attr")
_STRING = maker(cst.SimpleString, "value")
_INTEGER = maker(cst.Integer, "value")
_FLOAT = maker(cst.Float, "value")
_IMAGINARY = maker(cst.Imaginary, "value")
_ELLIPSIS = maker(cst.Ellipsis)


@converts("Name")
def _name(_: Converter, node: ast.Name) -> Any:
    return make_name(node.id)


@converts("Attribute")
def _attribute(c: Converter, node: ast.Attribute) -> Any:
    return _ATTRIBUTE(c.node(node.value), make_name(node.attr))


@converts("Constant")
def _constant(_: Converter, node: ast.Constant) -> Any:
    return constant(node.value)


def constant(value: Any) -> Any:
    """The literal of a constant."""
    if isinstance(value, str):
        return _STRING(_literal(value))
    if value is None or isinstance(value, bool):
        return make_name(str(value))
    if isinstance(value, int):
        return _INTEGER(hex(value))  # the decimal digits of a long number may be refused
    if isinstance(value, float):
        return _FLOAT(repr(value))
    if isinstance(value, complex):
        return _IMAGINARY(repr(value))
    return _STRING(repr(value)) if isinstance(value, bytes) else _ELLIPSIS()


def _literal(text: str) -> str:
    """A literal of a text, of the kind that is quick to evaluate where there is one."""
    if "\\" in text or "\r" in text:
        return repr(text)
    if '"' not in text and "\n" not in text:
        return f'"{text}"'
    return repr(text) if '"""' in text or text[-1] == '"' else f'"""{text}"""'


# Operations

_BINARY_OPERATION = maker(cst.BinaryOperation, "left", "operator", "right")
_UNARY = maker(cst.UnaryOperation, "operator", "expression")
_BOOLEAN = maker(cst.BooleanOperation, "left", "operator", "right")
_COMPARISON = maker(cst.Comparison, "left", "comparisons")
_COMPARISON_TARGET = maker(cst.ComparisonTarget, "operator", "comparator")
_CONDITIONAL = maker(cst.IfExp, "test", "body", "orelse")
_WALRUS = maker(cst.NamedExpr, "target", "value")
_AWAIT = maker(cst.Await, "expression")
_YIELD = maker(cst.Yield, "value")
make_from = maker(cst.From, "item")


@converts("BinOp")
def _binary(c: Converter, node: ast.BinOp) -> Any:
    return _BINARY_OPERATION(c.node(node.left), _operator(node.op), c.node(node.right))


@converts("UnaryOp")
def _unary(c: Converter, node: ast.UnaryOp) -> Any:
    return _UNARY(_operator(node.op), c.node(node.operand))


@converts("BoolOp")
def _boolean(c: Converter, node: ast.BoolOp) -> Any:
    operator = _operator(node.op)
    left = c.node(node.values[0])
    for value in node.values[1:]:
        left = _BOOLEAN(left, operator, c.node(value))
    return left


@converts("Compare")
def _compare(c: Converter, node: ast.Compare) -> Any:
    links = zip(node.ops, node.comparators, strict=True)
    targets = [_COMPARISON_TARGET(_operator(op), c.node(right)) for op, right in links]
    return _COMPARISON(c.node(node.left), targets)


@converts("IfExp")
def _conditional(c: Converter, node: ast.IfExp) -> Any:
    return _CONDITIONAL(c.node(node.test), c.node(node.body), c.node(node.orelse))


@converts("NamedExpr")
def _walrus(c: Converter, node: ast.NamedExpr) -> Any:
    return _WALRUS(c.node(node.target), c.node(node.value))


@converts("Await")
def _await(c: Converter, node: ast.Await) -> Any:
    return _AWAIT(c.node(node.value))


@converts("Yield")
def _yield(c: Converter, node: ast.Yield) -> Any:
    return _YIELD(c.optional(node.value))


@converts("YieldFrom")
def _yield_from(c: Converter, node: ast.YieldFrom) -> Any:
    return _YIELD(make_from(c.node(node.value)))


# Calls and functions

_CALL = maker(cst.Call, "func", "args")
_ARGUMENT = maker(cst.Arg, "value", "keyword", "star")
_LAMBDA = maker(cst.Lambda, "params", "body")
_PARAMETERS = maker(cst.Parameters, "posonly_params", "params", "star_arg", "kwonly_params", "star_kwarg")
_PARAMETER = maker(cst.Param, "name", "annotation", "default", "star")
make_annotation = maker(cst.Annotation, "annotation")


@converts("Call")
def _call(c: Converter, node: ast.Call) -> Any:
    return _CALL(c.node(node.func), arguments(c, node.args) + keywords(c, node.keywords))


def arguments(c: Converter, values: list[ast.expr]) -> list[Any]:
    """Arguments, or bases, that stand by themselves."""
    return [
        _ARGUMENT(c.node(value.value), None, "*")
        if isinstance(value, ast.Starred)
        else _ARGUMENT(c.node(value), None, "")
        for value in values
    ]


def keywords(c: Converter, named: list[ast.keyword]) -> list[Any]:
    """Arguments that have a name, or are many."""
    return [
        _ARGUMENT(c.node(keyword.value), None, "**")
        if keyword.arg is None
        else _ARGUMENT(c.node(keyword.value), make_name(keyword.arg), "")
        for keyword in named
    ]


@converts("Lambda")
def _lambda(c: Converter, node: ast.Lambda) -> Any:
    return _LAMBDA(parameters(c, node.args), c.node(node.body))


def parameters(c: Converter, node: ast.arguments) -> Any:
    """The parameters of a function with their defaults."""
    defaults = [None] * (len(node.posonlyargs) + len(node.args) - len(node.defaults)) + node.defaults
    first = len(node.posonlyargs)
    return _PARAMETERS(
        _parameters(c, node.posonlyargs, defaults[:first]),
        _parameters(c, node.args, defaults[first:]),
        cst.MaybeSentinel.DEFAULT if node.vararg is None else _parameter(c, node.vararg, None, "*"),
        _parameters(c, node.kwonlyargs, node.kw_defaults),
        None if node.kwarg is None else _parameter(c, node.kwarg, None, "**"),
    )


def _parameters(c: Converter, args: list[ast.arg], defaults: Sequence[ast.expr | None]) -> list[Any]:
    return [_parameter(c, arg, default, "") for arg, default in zip(args, defaults, strict=True)]


def _parameter(c: Converter, arg: ast.arg, default: ast.expr | None, star: str) -> Any:
    annotation = None if arg.annotation is None else make_annotation(c.node(arg.annotation))
    return _PARAMETER(make_name(arg.arg), annotation, c.optional(default), star)


# Containers and subscripts

_ELEMENT = maker(cst.Element, "value")
_STARRED = maker(cst.StarredElement, "value")
_TUPLE = maker(cst.Tuple, "elements")
_LIST = maker(cst.List, "elements")
_SET = maker(cst.Set, "elements")
_DICT = maker(cst.Dict, "elements")
_PAIR = maker(cst.DictElement, "key", "value")
_STARRED_PAIR = maker(cst.StarredDictElement, "value")
_SUBSCRIPT = maker(cst.Subscript, "value", "slice")
_SUBSCRIPT_ELEMENT = maker(cst.SubscriptElement, "slice", "comma")
_INDEX = maker(cst.Index, "value", "star")
_SLICE = maker(cst.Slice, "lower", "upper", "step")


@converts("Tuple")
def _tuple(c: Converter, node: ast.Tuple) -> Any:
    return make_tuple(c, node.elts)


def make_tuple(c: Converter, elements: list[ast.expr]) -> Any:
    """A tuple of these."""
    return _TUPLE([_element(c, element) for element in elements])


@converts("List")
def _list(c: Converter, node: ast.List) -> Any:
    return _LIST([_element(c, element) for element in node.elts])


@converts("Set")
def _set(c: Converter, node: ast.Set) -> Any:
    return _SET([_element(c, element) for element in node.elts])


def _element(c: Converter, node: ast.expr) -> Any:
    return _STARRED(c.node(node.value)) if isinstance(node, ast.Starred) else _ELEMENT(c.node(node))


@converts("Dict")
def _dict(c: Converter, node: ast.Dict) -> Any:
    return _DICT(
        [
            _STARRED_PAIR(c.node(value)) if key is None else _PAIR(c.node(key), c.node(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    )


@converts("Subscript")
def _subscript(c: Converter, node: ast.Subscript) -> Any:
    several = isinstance(node.slice, ast.Tuple) and bool(node.slice.elts)
    parts = node.slice.elts if several else [node.slice]  # type: ignore[attr-defined]
    comma = _COMMA if several else cst.MaybeSentinel.DEFAULT
    return _SUBSCRIPT(c.node(node.value), [_SUBSCRIPT_ELEMENT(_part(c, part), comma) for part in parts])


def _part(c: Converter, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return _SLICE(c.optional(node.lower), c.optional(node.upper), c.optional(node.step))
    if isinstance(node, ast.Starred):
        return _INDEX(c.node(node.value), "*")
    return _INDEX(c.node(node), None)


# Comprehensions

_LIST_COMP = maker(cst.ListComp, "elt", "for_in")
_SET_COMP = maker(cst.SetComp, "elt", "for_in")
_GENERATOR = maker(cst.GeneratorExp, "elt", "for_in")
_DICT_COMP = maker(cst.DictComp, "key", "value", "for_in")
_FOR_IN = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_IF = maker(cst.CompIf, "test")


@converts("ListComp")
def _list_comp(c: Converter, node: ast.ListComp) -> Any:
    return _LIST_COMP(c.node(node.elt), _for_in(c, node.generators))


@converts("SetComp")
def _set_comp(c: Converter, node: ast.SetComp) -> Any:
    return _SET_COMP(c.node(node.elt), _for_in(c, node.generators))


@converts("GeneratorExp")
def _generator(c: Converter, node: ast.GeneratorExp) -> Any:
    return _GENERATOR(c.node(node.elt), _for_in(c, node.generators))


@converts("DictComp")
def _dict_comp(c: Converter, node: ast.DictComp) -> Any:
    return _DICT_COMP(c.node(node.key), c.node(node.value), _for_in(c, node.generators))


def _for_in(c: Converter, generators: list[ast.comprehension]) -> Any:
    inner = None
    for one in reversed(generators):
        tests = [_IF(c.node(test)) for test in one.ifs]
        inner = _FOR_IN(c.node(one.target), c.node(one.iter), tests, inner, _ASYNC if one.is_async else None)
    return inner


# Formatted and template strings

_FORMATTED = maker(cst.FormattedString, "parts", start='rf"""', end='"""')
_TEXT = maker(cst.FormattedStringText, "value")
_FORMATTED_EXPRESSION = maker(cst.FormattedStringExpression, "expression", "conversion", "format_spec")


@converts("JoinedStr", "TemplateStr")
def _formatted(c: Converter, node: Any) -> Any:
    return _FORMATTED(_formatted_parts(c, node.values))


def _formatted_parts(c: Converter, values: list[Any]) -> list[Any]:
    return [
        _TEXT(str(value.value).replace("{", "{{").replace("}", "}}"))
        if isinstance(value, ast.Constant)
        else c.node(value)
        for value in values
    ]


@converts("FormattedValue", "Interpolation")
def _formatted_value(c: Converter, node: Any) -> Any:
    conversion = None if node.conversion == -1 else chr(node.conversion)
    spec = None if node.format_spec is None else _formatted_parts(c, node.format_spec.values)
    return _FORMATTED_EXPRESSION(c.node(node.value), conversion, spec)
