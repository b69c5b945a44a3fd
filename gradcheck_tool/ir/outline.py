"""The functions of a file as Python's own parser sees them: an index that costs a tenth of a libcst tree."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from gradcheck_tool.ir.recursion import parse_deep
from gradcheck_tool.sources.source import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef

# The outlines that something holds, by their sources: of a file that another has imported and that is then
# checked itself, for one.
_known: WeakValueDictionary[str, Outline] = WeakValueDictionary()


@dataclass(slots=True, eq=False)
class Unit:
    """A function with all that is inside it, which no other function is around.

    Rows are 1-based and inclusive; `first` is that of its first decorator. `text` is the code from
    `first` to `last` without the docstring. `owner` is the class around, if any.
    """

    node: AnyFunction
    qualname: str
    owner: str
    first: int
    last: int
    text: str

    @property
    def name(self) -> str:
        """The name it is defined by."""
        return self.node.name


@dataclass(eq=False)
class Outline:
    """A file cut into its units and the rest.

    `body` are its statements; `outside` is the code of those that are no functions and classes,
    imports and texts. `classes` maps each class around units to the last parts of its bases' names.
    `runs` tells whether the file is made to be run as a script.
    """

    source: str
    body: list[ast.stmt]
    lines: list[str]
    units: list[Unit] = field(default_factory=list)
    outside: str = ""
    classes: dict[str, list[str]] = field(default_factory=dict)
    runs: bool = False

    @property
    def code(self) -> Iterator[str]:
        """The code of the units and of the statements outside."""
        yield self.outside
        for unit in self.units:
            yield unit.text


def outline(source: str) -> Outline | None:
    """Cut a file into functions.

    Returns:
        None where Python's parser refuses the file; what to say about it is for libcst to find out.
    """
    source = source.removeprefix("\ufeff")
    known = _known.get(source)
    if known is not None:
        return known
    tree = parsed_by_python(source)
    if tree is None:
        return None
    found = Outline(source, tree.body, split_lines(source))
    outside: list[str] = []
    _collect(found, tree.body, "", outside)
    found.outside = "\n".join(outside)
    found.runs = _runs(tree.body, {unit.qualname for unit in found.units}, set(found.classes))
    _known[source] = found
    return found


def parsed_by_python(source: str) -> ast.Module | None:
    """The tree of Python's own parser; None where it refuses the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_deep(source.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _collect(found: Outline, body: list[ast.stmt], around: str, outside: list[str]) -> None:
    for statement in body:
        if isinstance(statement, _FUNCTIONS):
            found.units.append(_unit(found.lines, statement, around))
        elif isinstance(statement, ast.ClassDef):
            bases = found.classes.setdefault(statement.name, [])
            bases += [str(getattr(base, "attr", getattr(base, "id", "?"))) for base in statement.bases]
            _collect(found, statement.body, f"{around}{statement.name}.", outside)
        elif not _is_import_or_text(statement):
            suites = list(_suites(statement))
            last = (suites[0][0].lineno - 1 if suites else 0) or statement.end_lineno
            outside += found.lines[statement.lineno - 1 : last]
            for suite in suites:
                _collect(found, suite, around, outside)


def _runs(body: list[ast.stmt], functions: set[str], objects: set[str]) -> bool:
    """Does a statement outside ask whether this is the main program, or call what the file defines?

    `objects` are the classes of the file. What is made of them is added to them: making it alone is no run.
    """
    for statement in body:
        if isinstance(statement, ast.If) and "__name__" in ast.dump(statement.test):
            return True
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if any(_runs(suite, functions, objects) for suite in _suites(statement)):
            return True
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call):
            continue
        if _is_of(call, functions) or (isinstance(statement, ast.Expr) and _is_of(call, objects)):
            return True
        if isinstance(statement, ast.Assign) and _is_of(call, objects):
            objects |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return False


def _is_of(call: ast.Call, names: set[str]) -> bool:
    """Is it a call of one of these names, of a method of what that gives, or one with such an argument?"""
    at: ast.expr = call
    while isinstance(at, ast.Call | ast.Attribute):
        at = at.func if isinstance(at, ast.Call) else at.value
    given = (arg for arg in call.args if isinstance(arg, ast.Call))
    return (isinstance(at, ast.Name) and at.id in names) or any(_is_of(arg, names) for arg in given)


def _first_row(statement: Any) -> int:
    """The row of a statement, or of its first decorator."""
    first: int = min((d.lineno for d in getattr(statement, "decorator_list", ())), default=statement.lineno)
    return first


def _is_import_or_text(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr | ast.Assign):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _suites(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The suites of a compound statement that is no function and no class."""
    for name in ("body", "orelse", "finalbody"):
        suite = getattr(statement, name, None)
        if suite and isinstance(suite, list):
            yield suite
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _unit(lines: list[str], node: AnyFunction, around: str) -> Unit:
    start = node.body[0]
    first, body = _first_row(node), _first_row(start)
    last = node.end_lineno or node.lineno
    code = lines[first - 1 : last]
    if body > node.lineno and ast.get_docstring(node, clean=False) is not None:
        code[body - first : (start.end_lineno or body) - first + 1] = []
    owner = around.rstrip(".").rpartition(".")[2]
    return Unit(node, around + node.name, owner, first, last, "\n".join(code))
