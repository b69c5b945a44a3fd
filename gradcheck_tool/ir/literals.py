"""Values of number and string literals."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.builder import FunctionBuilder, lowers
from gradcheck_tool.ir.nodes import Format, Reg

if TYPE_CHECKING:
    from collections.abc import Sequence

    FormattedPart = syntax.BaseFormattedStringContent | syntax.BaseTemplatedStringContent

Number = int | float | complex


@lowers(syntax.Integer, syntax.Float, syntax.Imaginary)
def _number(b: FunctionBuilder, node: syntax.BaseNumber) -> Reg:
    value = number_value(node)
    return b.opaque(node) if value is None else b.const(node, value)


def number_value(node: syntax.CSTNode, sign: int = 1) -> Number | None:
    """The value of a number literal; None for other nodes and for what the compiler would refuse."""
    try:
        if isinstance(node, syntax.Integer):
            return sign * int(node.value, 0)
        if isinstance(node, syntax.Float):
            return sign * float(node.value)
        if isinstance(node, syntax.Imaginary):
            return sign * complex(node.value)
    except ValueError:
        return None
    return None


@lowers(syntax.Ellipsis)
def _ellipsis(b: FunctionBuilder, node: syntax.Ellipsis) -> Reg:
    return b.const(node, ...)


@lowers(syntax.SimpleString)
def _simple_string(b: FunctionBuilder, node: syntax.SimpleString) -> Reg:
    value = string_value(node)
    return b.opaque(node) if value is None else b.const(node, value)


def string_value(node: syntax.SimpleString) -> str | bytes | None:
    """The value of a plain string literal; None where the compiler would refuse it."""
    text = node.value
    quote = text[0]
    if quote in "'\"" and "\\" not in text and "\r" not in text:
        width = 3 if text.startswith(quote * 3) and len(text) > 2 else 1
        return text[width:-width]
    return _evaluate(text)


def _evaluate(literal: str) -> str | bytes | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an escape that Python does not know is the author's matter
        try:
            value = ast.literal_eval(literal)
        except (SyntaxError, ValueError):
            return None
    return value if isinstance(value, str | bytes) else None


@lowers(syntax.ConcatenatedString)
def _concatenated(b: FunctionBuilder, node: syntax.ConcatenatedString) -> Reg:
    pieces = _pieces(node)
    values = [string_value(piece) for piece in pieces if isinstance(piece, syntax.SimpleString)]
    if len(values) < len(pieces):
        formatted = Format(node, 0, [])
        for piece in pieces:
            if isinstance(piece, syntax.SimpleString):
                _add_text(formatted, str(string_value(piece)))
            else:
                _add_parts(b, formatted, piece.parts, piece)
        return _emit(b, formatted)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return b.const(node, "".join(texts))
    chunks = [value for value in values if isinstance(value, bytes)]
    return b.const(node, b"".join(chunks)) if len(chunks) == len(values) else b.opaque(node)


def _pieces(
    node: syntax.ConcatenatedString,
) -> list[syntax.SimpleString | syntax.FormattedString | syntax.TemplatedString]:
    """The literals of an implicit concatenation, which the tree nests to the right."""
    pieces: list[syntax.SimpleString | syntax.FormattedString | syntax.TemplatedString] = []
    rest: syntax.BaseExpression = node
    while isinstance(rest, syntax.ConcatenatedString):
        pieces.append(rest.left)
        rest = rest.right
    assert isinstance(rest, syntax.SimpleString | syntax.FormattedString | syntax.TemplatedString)
    return [*pieces, rest]


@lowers(syntax.FormattedString, syntax.TemplatedString)
def _formatted(b: FunctionBuilder, node: syntax.FormattedString | syntax.TemplatedString) -> Reg:
    formatted = Format(node, 0, [])
    _add_parts(b, formatted, node.parts, node)
    return _emit(b, formatted)


def _emit(b: FunctionBuilder, formatted: Format) -> Reg:
    formatted.dst = b.reg()
    b.emit(formatted)
    return formatted.dst


def _add_parts(
    b: FunctionBuilder,
    formatted: Format,
    parts: Sequence[FormattedPart],
    literal: syntax.FormattedString | syntax.TemplatedString,
) -> None:
    """Evaluate the parts of an f-string, or of a format specification in it, into `formatted`."""
    for part in parts:
        if isinstance(part, syntax.FormattedStringText | syntax.TemplatedStringText):
            _add_text(formatted, _text(part.value, literal))
        elif isinstance(part, syntax.FormattedStringExpression | syntax.TemplatedStringExpression):
            _add_expression(b, formatted, part, literal)


def _add_text(formatted: Format, text: str) -> None:
    """Texts that follow each other, from several literals perhaps, are one."""
    if formatted.parts and isinstance(formatted.parts[-1], str):
        formatted.parts[-1] += text
    elif text:
        formatted.parts.append(text)


def _add_expression(
    b: FunctionBuilder,
    formatted: Format,
    part: syntax.FormattedStringExpression | syntax.TemplatedStringExpression,
    literal: syntax.FormattedString | syntax.TemplatedString,
) -> None:
    conversion, spec = part.conversion, part.format_spec
    if part.equal is not None:
        _add_text(formatted, _own_text(part))
        if conversion is None and spec is None:
            conversion = "r"
    value = b.expr(part.expression)
    index = len(formatted.parts)
    formatted.parts.append(value)
    if conversion is not None:
        formatted.conversions[index] = conversion
    if spec is not None:
        inner = Format(part, 0, [])
        _add_parts(b, inner, spec, literal)
        formatted.specs[index] = _emit(b, inner)


def _own_text(part: syntax.FormattedStringExpression | syntax.TemplatedStringExpression) -> str:
    """What `{value = }` prints before the value: the text as written."""
    import libcst

    blank = libcst.Module([])
    assert part.equal is not None
    return (
        blank.code_for_node(part.whitespace_before_expression)
        + blank.code_for_node(part.expression)
        + blank.code_for_node(part.equal)
    )


def _text(value: str, literal: syntax.FormattedString | syntax.TemplatedString) -> str:
    """Literal text of an f-string: doubled braces and escape sequences mean one character."""
    value = value.replace("{{", "{").replace("}}", "}")
    prefix = literal.start.rstrip("'\"").lower()
    if "\r" in value:
        value = value.replace("\r\n", "\n").replace("\r", "\n")
    if "\\" not in value or "r" in prefix:
        return value
    # A space keeps a final quote or backslash from running into the closing quotes.
    evaluated = _evaluate(f"{literal.end}{value} {literal.end}")
    return evaluated[:-1] if isinstance(evaluated, str) else value


def docstring_value(node: syntax.CSTNode) -> str | None:
    """The text of a plain string literal; None for bytes, formatted strings and all other nodes."""
    if not isinstance(node, syntax.SimpleString | syntax.ConcatenatedString):
        return None
    pieces = _pieces(node) if isinstance(node, syntax.ConcatenatedString) else [node]
    values = [string_value(piece) if isinstance(piece, syntax.SimpleString) else None for piece in pieces]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(pieces) else None
