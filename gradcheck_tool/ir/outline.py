"""The functions of a file as Python's own parser sees them: an index that costs a tenth of a libcst tree."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END = re.compile(r"\r\n|\r|\n")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True, eq=False)
class Unit:
    """A function with all that is inside it, which no other function is around.

    Rows are 1-based and inclusive; `first` is that of its first decorator, `row` that of `def`.
    `body` is the row where the body starts, 0 where it does not start on a row of its own. `text` is
    the code from `first` to `last` without the docstring.
    """

    node: AnyFunction
    owner: str
    first: int
    row: int
    body: int
    last: int
    text: str

    @property
    def name(self) -> str:
        """The name it is defined by."""
        return self.node.name


@dataclass(slots=True, eq=False)
class Outline:
    """A file cut into its units and the rest; `outside` is the code of the rest."""

    source: str
    lines: list[str]
    units: list[Unit] = field(default_factory=list)
    outside: str = ""
    classes: list[ast.ClassDef] = field(default_factory=list)
    runs: bool = False


def outline(source: str) -> Outline | None:
    """Cut a file into functions.

    Returns:
        None where Python's parser refuses the file; what to say about it is for libcst to find out.
    """
    source = source.removeprefix("\ufeff")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = Outline(source, _LINE_END.split(source))
    _collect(found, tree.body, "")
    found.outside = _without(found.lines, found.units)
    found.runs = any(_runs(statement) for statement in tree.body)
    return found


def _collect(found: Outline, body: list[ast.stmt], owner: str) -> None:
    for statement in body:
        if isinstance(statement, _FUNCTIONS):
            found.units.append(_unit(found.lines, statement, owner))
        elif isinstance(statement, ast.ClassDef):
            found.classes.append(statement)
            _collect(found, statement.body, statement.name)
        else:
            for inner in _suites(statement):
                _collect(found, inner, owner)


def _suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The suites of a compound statement that is no function and no class."""
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(statement, name, None)
        if isinstance(suite, list):
            yield suite
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _unit(lines: list[str], node: AnyFunction, owner: str) -> Unit:
    start = node.body[0]
    first = min((d.lineno for d in node.decorator_list), default=node.lineno)
    inner = getattr(start, "decorator_list", [])
    body = min((d.lineno for d in inner), default=start.lineno)
    if body == node.lineno or lines[body - 1][: start.col_offset].strip(" \t\f") not in ("", "@"):
        body = 0
    last = node.end_lineno or node.lineno
    code = lines[first - 1 : last]
    if ast.get_docstring(node, clean=False) is not None and body and start.end_lineno is not None:
        code[body - first : start.end_lineno - first + 1] = []
    return Unit(node, owner, first, node.lineno, body, last, "\n".join(code))


def _without(lines: list[str], units: list[Unit]) -> str:
    kept: list[str] = []
    at = 0
    for unit in units:
        kept += lines[at : unit.first - 1]
        at = unit.last
    return "\n".join(kept + lines[at:])


def _runs(statement: ast.stmt) -> bool:
    """Does a statement of a module's body do more than define, import and assign?"""
    if isinstance(statement, ast.For | ast.While | ast.AsyncFor | ast.With | ast.Match):
        return True
    return isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test)
