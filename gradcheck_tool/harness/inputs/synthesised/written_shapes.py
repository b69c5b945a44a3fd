"""Shapes that are written beside parameters: `# (B, NH, S, D)` and `queries (Tensor): (B, NH, S, D)`.

A letter stands for one length wherever it comes, so that arguments which are described together fit together.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import tokenize
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING, Any

from gradcheck_tool.harness.inputs.synthesised.specs import SIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

_GROUP = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_FIRST_NAME = re.compile(r"[*\s]*([A-Za-z_]\w*)\s*(?:[:,=(]|$)")
_DOCUMENTED = re.compile(r"^\s*(?::param\s+)?[`*]*([A-Za-z_]\w*)[`*]*\s*(?:[:(]|is\b)(.*)$")
_BETWEEN = re.compile(r",|\s+x\s+|\s*\u00d7\s*")
_AXIS = re.compile(r"\*?[A-Za-z_]\w*|\d+|\.\.\.|(?:\d+|[A-Za-z]\w*)\s*[*+/-]\s*(?:\d+|[A-Za-z]\w*)")
_OF_LENGTHS = re.compile(
    r"\d+|\.\.\.|[A-Z]\w{0,4}|[a-z]\d?|\w*[*+/ -].*|.*(?:batch|bsz|seq|len|dim|num|size|channel|head|height"
    r"|width|hidden|feature|embed|token|step|time|group|class|point|node|row|col).*"
)
_SAYS_SHAPE = re.compile(r"\b(?:shape|size|dims?|dimensions?)\b", re.IGNORECASE)
_LONGEST, _MOST_AXES = 64, 6


def written_shapes(function: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of parameters that comments in the signature of a function, or the docstring of a function
    or class, tell.
    """
    told = [*_documented(inspect.getdoc(function) or "")]
    if not isinstance(function, type):
        with suppress(OSError, TypeError):
            told += _commented(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    shapes = {name: shape_in(text) for name, text in told}
    return {name: shape for name, shape in shapes.items() if shape is not None}


def shape_in(text: str) -> tuple[int, ...] | None:
    """The first shape that a text gives; letters stand for `SIDE`, `...` for one axis of that length."""
    for group in _GROUP.finditer(text):
        axes = [axis.strip() for axis in _BETWEEN.split(group[1]) if axis.strip()]
        if not axes or len(axes) > _MOST_AXES or not all(map(_AXIS.fullmatch, axes)):
            continue
        told = _SAYS_SHAPE.search(text[: group.start()]) is not None
        if len(axes) == 1 and not (told or group[1].rstrip().endswith(",")):
            continue
        if told or all(map(_OF_LENGTHS.fullmatch, axes)):
            shape = tuple(map(_length, axes))
            if all(0 < n <= _LONGEST for n in shape):
                return shape
    return None


def _length(axis: str) -> int:
    """A number as it is, a name as `SIDE`, and what one of both is made of by adding or multiplying."""
    parts = re.split(r"\s*([*+/-])\s*", axis.lstrip("*"))
    numbers = [int(part) if part.isdigit() else SIDE for part in parts[::2]]
    if len(parts) == 1:
        return numbers[0]
    a, b = numbers[0], numbers[-1]
    return {"*": a * b, "+": a + b, "-": a - b, "/": a // b if b else 0}[parts[1]]


def _documented(text: str) -> Iterator[tuple[str, str]]:
    """Names at the beginning of lines of a docstring, with the rest of the line."""
    for line in text.splitlines():
        match = _DOCUMENTED.match(line)
        if match is not None:
            # What stands in the first brackets after a name is its type.
            typed = re.match(r"[^()]*\)\s*:?", match[2]) if "(" in line[: match.start(2)] else None
            yield match[1], match[2][typed.end() :] if typed is not None else match[2]


def _commented(source: str) -> Iterator[tuple[str, str]]:
    """Parameters that stand on a line of their own, with the comment behind them."""
    lines = source.splitlines()
    depth, begun = 0, False
    try:
        for token in tokenize.generate_tokens(StringIO(source).readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
                begun = begun or depth > 0
            elif token.type == tokenize.NAME and token.string == "def":
                depth, begun = 0, False
            elif token.type == tokenize.COMMENT and begun and depth == 1:
                name = _FIRST_NAME.match(lines[token.start[0] - 1])
                if name is not None:
                    yield name[1], token.string
            if begun and not depth and token.string == ":":
                return
    except (tokenize.TokenError, IndentationError):
        return
