"""Values of number and string literals."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

import libcst as cst

from gradcheck_tool.ir.builder import FunctionBuilder, lowers
from gradcheck_tool.ir.nodes import Format, Reg

if TYPE_CHECKING:
    from collections.abc import Sequence

Number = int | float | complex

FormattedPart = cst.BaseFormattedStringContent | cst.BaseTemplatedStringContent


@lowers(cst.Integer, cst.Float, cst.Imaginary)
def _number(b: FunctionBuilder, node: cst.BaseNumber) -> Reg:
    value = number_value(node)
    return b.opaque(node) if value is None else b.const(node, value)


def number_value(node: cst.CSTNode, sign: int = 1) -> Number | None:
    """The value of a number literal; None for other nodes and for what the compiler would refuse."""
    try:
        if isinstance(node, cst.Integer):
            return sign * int(node.value, 0)
        if isinstance(node, cst.Float):
            return sign * float(node.value)
        if isinstance(node, cst.Imaginary):
            return sign * complex(node.value)
    except ValueError:
        return None
    return None


@lowers(cst.Ellipsis)
def _ellipsis(b: FunctionBuilder, node: cst.Ellipsis) -> Reg:
    return b.const(node, ...)


@lowers(cst.SimpleString)
def _simple_string(b: FunctionBuilder, node: cst.SimpleString) -> Reg:
    value = string_value(node)
    return b.opaque(node) if value is None else b.const(node, value)


def string_value(node: cst.SimpleString) -> str | bytes | None:
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


@lowers(cst.ConcatenatedString)
def _concatenated(b: FunctionBuilder, node: cst.ConcatenatedString) -> Reg:
    pieces = _pieces(node)
    values = [string_value(piece) for piece in pieces if isinstance(piece, cst.SimpleString)]
    if len(values) < len(pieces):
        formatted = Format(node, 0, [])
        for piece in pieces:
            if isinstance(piece, cst.SimpleString):
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
    node: cst.ConcatenatedString,
) -> list[cst.SimpleString | cst.FormattedString | cst.TemplatedString]:
    """The literals of an implicit concatenation, which the tree nests to the right."""
    pieces: list[cst.SimpleString | cst.FormattedString | cst.TemplatedString] = []
    rest: cst.BaseExpression = node
    while isinstance(rest, cst.ConcatenatedString):
        pieces.append(rest.left)
        rest = rest.right
    assert isinstance(rest, cst.SimpleString | cst.FormattedString | cst.TemplatedString)
    return [*pieces, rest]


@lowers(cst.FormattedString, cst.TemplatedString)
def _formatted(b: FunctionBuilder, node: cst.FormattedString | cst.TemplatedString) -> Reg:
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
    literal: cst.FormattedString | cst.TemplatedString,
) -> None:
    """Evaluate the parts of an f-string, or of a format specification in it, into `formatted`."""
    for part in parts:
        if isinstance(part, cst.FormattedStringText | cst.TemplatedStringText):
            _add_text(formatted, _text(part.value, literal))
        elif isinstance(part, cst.FormattedStringExpression | cst.TemplatedStringExpression):
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
    part: cst.FormattedStringExpression | cst.TemplatedStringExpression,
    literal: cst.FormattedString | cst.TemplatedString,
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


def _own_text(part: cst.FormattedStringExpression | cst.TemplatedStringExpression) -> str:
    """What `{value = }` prints before the value: the text as written."""
    blank = cst.Module([])
    assert part.equal is not None
    return (
        blank.code_for_node(part.whitespace_before_expression)
        + blank.code_for_node(part.expression)
        + blank.code_for_node(part.equal)
    )


def _text(value: str, literal: cst.FormattedString | cst.TemplatedString) -> str:
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


def docstring_value(node: cst.CSTNode) -> str | None:
    """The text of a plain string literal; None for bytes, formatted strings and all other nodes."""
    if not isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        return None
    pieces = _pieces(node) if isinstance(node, cst.ConcatenatedString) else [node]
    values = [string_value(piece) if isinstance(piece, cst.SimpleString) else None for piece in pieces]
    texts = [value for value in values if isinstance(value, str)]
    return "".join(texts) if len(texts) == len(pieces) else None
