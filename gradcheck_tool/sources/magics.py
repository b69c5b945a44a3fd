"""IPython syntax in notebook cells: lines that are not Python become Python of the same shape.

A blanked line keeps its indentation, so rows and columns of the Python around it stay as they are.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from typing import TYPE_CHECKING

from gradcheck_tool.sources.nesting import is_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

# `%%name` cells whose body is still Python, run by this kernel.
_PYTHON_CELLS = frozenset(
    {"capture", "debug", "gradlint", "ipytest", "prun", "pypy", "python", "python3", "time", "timeit"}
)

_CELL_MAGIC = re.compile(r"\s*%%\s*(\w+)")
_LINE_MAGIC = re.compile(r"(\s*)(?:%[%\w]|!|\?|,|;|/)")
_HELP = re.compile(r"(\s*)%{0,2}[\w.*]+\?{1,2}\s*(?:#.*)?$")
_ASSIGNED = re.compile(r"(\s*[\w.\[\]'\", *()]+=\s*)(?:%\w|!)")
_AUTOMAGIC = re.compile(
    r"(\s*)(?:cat|cd|conda|cp|ls|ll|mamba|man|mkdir|more|mv|pip|pip3|pwd|rm|rmdir|uv|wget)\s+"
    r"(?!(?:and|or|in|is|not|if)\b)[-\w/~.$]"
)
# Strings and comments, so that brackets inside them do not count.
_SKIPPED = re.compile(r"#.*|(?:'''|\"\"\")|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_NAME = re.compile(r"[^\W\d]\w*")
_BOUND = re.compile(
    r"^\s*(?:(?:def|class)\s+(\w+)|((?:\w+\s*,\s*)*\w+)\s*[-+*/%@&|^<>:]{0,3}=(?!=))", re.MULTILINE
)
_NOTHING = "0"
_UNKNOWN = "get_ipython()"


def is_foreign_cell(source: str) -> bool:
    """Whether a cell's first line hands the whole cell to something that is not this Python."""
    match = _CELL_MAGIC.match(source)
    return match is not None and match.group(1) not in _PYTHON_CELLS


def without_magics(source: str) -> str:
    """The cell's text with magics, shell lines and help requests blanked; as it is when there are none."""
    if is_python(source):
        return source
    lines = source.split("\n")
    for row in _statement_starts(lines):
        blanked = _blanked(lines[row])
        if blanked is None:
            continue
        while lines[row].endswith("\\") and row + 1 < len(lines):
            lines[row] = blanked
            row, blanked = row + 1, ""  # noqa: PLW2901 - the magic continues in the next line
        lines[row] = blanked
    return "\n".join(lines)


def stand_in(source: str) -> str:
    """What stands in for a cell that is no Python, in as many rows: it may do anything with what it names."""
    bound = (name for pair in _BOUND.findall(source) for name in _names("".join(pair)))
    rows = source.rstrip("\n").count("\n") + 1
    targets = "".join(f"{name} = " for name in dict.fromkeys(bound))
    return f"{targets}get_ipython({', '.join(_names(source))})" + "\n" * rows


def _names(text: str) -> list[str]:
    return [name for name in dict.fromkeys(_NAME.findall(text)) if not keyword.iskeyword(name)]


def is_python(source: str) -> bool:
    """Whether this text parses, with `await` allowed at the top as in IPython."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def is_newer_python(source: str) -> bool:
    """Whether this text parses as a newer Python than the one that gradlint runs on."""
    import libcst

    if is_too_deep(source):
        return False
    try:
        libcst.parse_module(source)
    except (libcst.ParserSyntaxError, UnicodeEncodeError):
        return False
    return True


def _blanked(line: str) -> str | None:
    """What stands in for a line that is not Python; None when it may be."""
    if _CELL_MAGIC.match(line):
        return ""
    for pattern in (_LINE_MAGIC, _HELP, _AUTOMAGIC):
        match = pattern.match(line)
        if match:
            return match.group(1) + _NOTHING
    match = _ASSIGNED.match(line)
    return match.group(1) + _UNKNOWN if match else None


def _statement_starts(lines: list[str]) -> Iterator[int]:
    """Rows (0-based) that do not continue a bracket or a string of the row before."""
    depth, quote = 0, ""
    for row, line in enumerate(lines):
        if depth == 0 and not quote:
            yield row
            if _blanked(line) is not None:
                continue
        depth, quote = _after(line, depth, quote)


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """Open brackets and the open triple quote at the end of a line."""
    position = 0
    while position < len(line):
        if quote:
            end = line.find(quote, position)
            if end < 0:
                return depth, quote
            position, quote = end + 3, ""
            continue
        match = _SKIPPED.match(line, position)
        if match:
            quote = match.group() if match.group() in ("'''", '"""') else ""
            position = match.end()
            continue
        depth += (line[position] in "([{") - (line[position] in ")]}")
        position += 1
    return max(depth, 0), quote
