"""Conversion of expressions, f-strings and arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradcheck_tool.ir.conversion import Converter, at, converts, light

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMA = light.Comma()
_ASYNC = light.Asynchronous()

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
_OPERATORS: dict[str, Any] = {
    **{name: getattr(light, kind)() for name, kind in BINARY.items()},
    "USub": light.Minus(),
    "UAdd": light.Plus(),
    "Invert": light.BitInvert(),
    "Not": light.Not(),
    "And": light.And(),
    "Or": light.Or(),
    "Lt": light.LessThan(),
    "LtE": light.LessThanEqual(),
    "Gt": light.GreaterThan(),
    "GtE": light.GreaterThanEqual(),
    "Eq": light.Equal(),
    "NotEq": light.NotEqual(),
    "Is": light.Is(),
    "IsNot": light.IsNot(),
    "In": light.In(),
    "NotIn": light.NotIn(),
}


def _operator(node: ast.AST) -> Any:
    return _OPERATORS[node.__class__.__name__]


# Names and literals


@converts("Name")
def _name(_: Converter, node: ast.Name) -> Any:
    return light.Name(node.id)


@converts("Attribute")
def _attribute(c: Converter, node: ast.Attribute) -> Any:
    return light.Attribute(c.node(node.value), at(node, light.Name(node.attr)))


@converts("Constant")
def _constant(_: Converter, node: ast.Constant) -> Any:
    return constant(node.value)


def constant(value: Any) -> Any:
    """The literal of a constant."""
    if isinstance(value, str):
        return light.SimpleString(_literal(value))
    if value is None or isinstance(value, bool):
        return light.Name(str(value))
    if isinstance(value, int):
        return light.Integer(hex(value))  # the decimal digits of a long number may be refused
    if isinstance(value, float):
        return light.Float(repr(value))
    if isinstance(value, complex):
        return light.Imaginary(repr(value))
    return light.SimpleString(repr(value)) if isinstance(value, bytes) else light.Ellipsis()


def _literal(text: str) -> str:
    """A literal of a text, of the kind that is quick to evaluate where there is one."""
    if "\\" in text or "\r" in text:
        return repr(text)
    if '"' not in text and "\n" not in text:
        return f'"{text}"'
    return repr(text) if '"""' in text or text[-1] == '"' else f'"""{text}"""'


# Operations


@converts("BinOp")
def _binary(c: Converter, node: ast.BinOp) -> Any:
    return light.BinaryOperation(c.node(node.left), _operator(node.op), c.node(node.right))


@converts("UnaryOp")
def _unary(c: Converter, node: ast.UnaryOp) -> Any:
    return light.UnaryOperation(_operator(node.op), c.node(node.operand))


@converts("BoolOp")
def _boolean(c: Converter, node: ast.BoolOp) -> Any:
    operator = _operator(node.op)
    left = c.node(node.values[0])
    for value in node.values[1:]:
        left = light.BooleanOperation(left, operator, c.node(value))
    return left


@converts("Compare")
def _compare(c: Converter, node: ast.Compare) -> Any:
    links = zip(node.ops, node.comparators, strict=True)
    targets = [light.ComparisonTarget(_operator(op), c.node(right)) for op, right in links]
    return light.Comparison(c.node(node.left), targets)


@converts("IfExp")
def _conditional(c: Converter, node: ast.IfExp) -> Any:
    return light.IfExp(c.node(node.test), c.node(node.body), c.node(node.orelse))


@converts("NamedExpr")
def _walrus(c: Converter, node: ast.NamedExpr) -> Any:
    return light.NamedExpr(c.node(node.target), c.node(node.value))


@converts("Await")
def _await(c: Converter, node: ast.Await) -> Any:
    return light.Await(c.node(node.value))


@converts("Yield")
def _yield(c: Converter, node: ast.Yield) -> Any:
    return light.Yield(c.optional(node.value))


@converts("YieldFrom")
def _yield_from(c: Converter, node: ast.YieldFrom) -> Any:
    return light.Yield(light.From(c.node(node.value)))


# Calls and functions


@converts("Call")
def _call(c: Converter, node: ast.Call) -> Any:
    return light.Call(c.node(node.func), arguments(c, node.args) + keywords(c, node.keywords))


def arguments(c: Converter, values: list[ast.expr]) -> list[Any]:
    """Arguments, or bases, that stand by themselves."""
    return [
        light.Arg(c.node(value.value), None, "*")
        if isinstance(value, ast.Starred)
        else light.Arg(c.node(value), None, "")
        for value in values
    ]


def keywords(c: Converter, named: list[ast.keyword]) -> list[Any]:
    """Arguments that have a name, or are many."""
    return [
        light.Arg(c.node(keyword.value), None, "**")
        if keyword.arg is None
        else light.Arg(c.node(keyword.value), light.Name(keyword.arg), "")
        for keyword in named
    ]


@converts("Lambda")
def _lambda(c: Converter, node: ast.Lambda) -> Any:
    return light.Lambda(parameters(c, node.args), c.node(node.body))


def parameters(c: Converter, node: ast.arguments) -> Any:
    """The parameters of a function with their defaults."""
    defaults = [None] * (len(node.posonlyargs) + len(node.args) - len(node.defaults)) + node.defaults
    first = len(node.posonlyargs)
    return light.Parameters(
        _parameters(c, node.posonlyargs, defaults[:first]),
        _parameters(c, node.args, defaults[first:]),
        None if node.vararg is None else _parameter(c, node.vararg, None, "*"),
        _parameters(c, node.kwonlyargs, node.kw_defaults),
        None if node.kwarg is None else _parameter(c, node.kwarg, None, "**"),
    )


def _parameters(c: Converter, args: list[ast.arg], defaults: Sequence[ast.expr | None]) -> list[Any]:
    return [_parameter(c, arg, default, "") for arg, default in zip(args, defaults, strict=True)]


def _parameter(c: Converter, arg: ast.arg, default: ast.expr | None, star: str) -> Any:
    annotation = None if arg.annotation is None else light.Annotation(c.node(arg.annotation))
    return light.Param(at(arg, light.Name(arg.arg)), annotation, c.optional(default), star)


# Containers and subscripts


@converts("Tuple")
def _tuple(c: Converter, node: ast.Tuple) -> Any:
    return make_tuple(c, node.elts)


def make_tuple(c: Converter, elements: list[ast.expr]) -> Any:
    """A tuple of these."""
    return light.Tuple([_element(c, element) for element in elements])


@converts("List")
def _list(c: Converter, node: ast.List) -> Any:
    return light.List([_element(c, element) for element in node.elts])


@converts("Set")
def _set(c: Converter, node: ast.Set) -> Any:
    return light.Set([_element(c, element) for element in node.elts])


@converts("Starred")
def _star_alone(c: Converter, node: ast.Starred) -> Any:
    """Parsers take `x = *y`, which is refused later, for what `x = *y,` is."""
    return light.Tuple([light.StarredElement(c.node(node.value))])


def _element(c: Converter, node: ast.expr) -> Any:
    return (
        light.StarredElement(c.node(node.value))
        if isinstance(node, ast.Starred)
        else light.Element(c.node(node))
    )


@converts("Dict")
def _dict(c: Converter, node: ast.Dict) -> Any:
    return light.Dict(
        [
            light.StarredDictElement(c.node(value))
            if key is None
            else light.DictElement(c.node(key), c.node(value))
            for key, value in zip(node.keys, node.values, strict=True)
        ]
    )


@converts("Subscript")
def _subscript(c: Converter, node: ast.Subscript) -> Any:
    several = isinstance(node.slice, ast.Tuple) and bool(node.slice.elts)
    parts = node.slice.elts if several else [node.slice]  # type: ignore[attr-defined]
    comma = _COMMA if several else None
    return light.Subscript(
        c.node(node.value), [light.SubscriptElement(_part(c, part), comma) for part in parts]
    )


def _part(c: Converter, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        return at(node, light.Slice(c.optional(node.lower), c.optional(node.upper), c.optional(node.step)))
    if isinstance(node, ast.Starred):
        return light.Index(c.node(node.value), "*")
    return light.Index(c.node(node), None)


# Comprehensions


@converts("ListComp")
def _list_comp(c: Converter, node: ast.ListComp) -> Any:
    return light.ListComp(c.node(node.elt), _for_in(c, node.generators))


@converts("SetComp")
def _set_comp(c: Converter, node: ast.SetComp) -> Any:
    return light.SetComp(c.node(node.elt), _for_in(c, node.generators))


@converts("GeneratorExp")
def _generator(c: Converter, node: ast.GeneratorExp) -> Any:
    return light.GeneratorExp(c.node(node.elt), _for_in(c, node.generators))


@converts("DictComp")
def _dict_comp(c: Converter, node: ast.DictComp) -> Any:
    return light.DictComp(c.node(node.key), c.node(node.value), _for_in(c, node.generators))


def _for_in(c: Converter, generators: list[ast.comprehension]) -> Any:
    inner = None
    for one in reversed(generators):
        tests = [light.CompIf(c.node(test)) for test in one.ifs]
        inner = light.CompFor(
            c.node(one.target), c.node(one.iter), tests, inner, _ASYNC if one.is_async else None
        )
    return inner


# Formatted and template strings


@converts("JoinedStr", "TemplateStr")
def _formatted(c: Converter, node: Any) -> Any:
    return light.FormattedString(_formatted_parts(c, node.values))


def _formatted_parts(c: Converter, values: list[Any]) -> list[Any]:
    return [
        light.FormattedStringText(str(value.value).replace("{", "{{").replace("}", "}}"))
        if isinstance(value, ast.Constant)
        else c.node(value)
        for value in values
    ]


@converts("FormattedValue", "Interpolation")
def _formatted_value(c: Converter, node: Any) -> Any:
    c.spans.formatted(node)
    conversion = None if node.conversion == -1 else chr(node.conversion)
    spec = None if node.format_spec is None else _formatted_parts(c, node.format_spec.values)
    return light.FormattedStringExpression(c.node(node.value), conversion, spec)
