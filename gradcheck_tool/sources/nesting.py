"""How deeply a program is nested, judged by its text before a parser sees it that could break down on it.

The parser of libcst is native code. It calls itself for each bracket and operator inside another, and where
the stack ends, so does the process. Its time grows with the square of the depth; in patterns of `match` it
doubles with each bracket.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Python's own parser refuses deeper ones.
_BRACKETS = 200
# The weight of what no comma and no line end divides: of a thousand links of a chain, or so.
_WEIGHT = 6_000
# So many words and signs in a file stand inside of more than so many brackets: time and memory add up.
_DEEP = 40
_MOST_DEEP = 2_000
# Brackets in a pattern.
_PATTERN = 8
# Each makes the statement before a part of the one after.
_ELSE_IFS = 5_000

_TOKEN = re.compile(
    r"(?P<skip>\#[^\n]*|\\\r?\n)"
    r"|(?P<text>\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n)|(?P<comma>[,;])|(?P<word>\w+)|(?P<sign>[^\s\w])",
    re.DOTALL,
)
# What follows is inside what stands before: each link takes several calls.
_LINKS = {".": 4, "(": 4, "[": 4, "{": 4}

# What stands before a text with expressions in it.
_FORMATS = re.compile(r"r?[ft]r?", re.IGNORECASE)


def is_too_deep(text: str) -> bool:
    """Whether brackets or operations are nested in each other more deeply than people write them."""
    if text.count("elif") > _ELSE_IFS:
        return True
    weights, total, deep = [0], 0, 0
    is_pattern = starts = True
    prefix = ""
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind == "skip":
            continue
        if kind == "text" and _FORMATS.fullmatch(prefix) and any(map(is_too_deep, _fields(piece))):
            return True
        prefix = piece if kind == "word" else ""
        if starts:
            is_pattern, starts = piece == "case", False
        if kind == "close":
            if len(weights) > 1:
                total -= weights.pop()
        elif kind == "comma" or (kind == "end" and len(weights) == 1):
            total -= weights[-1]
            weights[-1] = 0
            starts = kind == "end"
        elif kind != "end":
            weight = _LINKS.get(piece, 1)
            weights[-1] += weight
            total += weight
            if kind == "open":
                weights.append(0)
        depth = len(weights) - 1
        deep += depth > _DEEP
        if depth > _BRACKETS or total > _WEIGHT or deep > _MOST_DEEP or (is_pattern and depth > _PATTERN):
            return True
    return False


def _fields(text: str) -> Iterator[str]:
    """The expressions in a formatted text; what its braces do not close goes on to its end."""
    depth = start = 0
    for brace in re.finditer(r"[{}]", text.replace("{{", "  ") if "{{" in text else text):
        depth += 1 if brace.group() == "{" else -1
        if depth == 1 and brace.group() == "{":
            start = brace.end()
        elif depth == 0:
            yield text[start : brace.start()]
        depth = max(depth, 0)
    if depth:
        yield text[start:]
