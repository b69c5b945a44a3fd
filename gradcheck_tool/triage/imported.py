"""What code calls that other files of the repository define, judged by text.

A script may hold no word of autograd and still train, and a function differentiate: what they call stands in
another file.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.triage.running import running_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.ir.outline import Outline, Unit

# A file in which one of them stands computes gradients.
_DIFFERENTIATES = re.compile(rb"\.backward\(|\bautograd\.(?:grad|backward)\(")
# A statement at the left margin that calls something, or asks whether this is the main program.
_CALLS = re.compile(
    rb"^(?!(?:def|class|from|import|async|return)\b|[@#)\]}\"'\s])[^\n]*\(|__name__", re.MULTILINE
)
_IMPORTS = re.compile(
    rb"(?:^|;)[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]*)|import[ \t]+([\w.]+))",
    re.MULTILINE,
)
# A definition ends at the next statement at the left margin.
_MARGIN = re.compile(rb"^[^\s#)\]}]", re.MULTILINE)
_FUNCTION_CLASS = re.compile(rb"class[ \t]+\w+[ \t]*\([^)]*\bFunction\b")
_NAME = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+\w+)?")


@dataclass(frozen=True, slots=True)
class Imported:
    """An import: the module, the number of leading dots, and the names that are taken from it, if any."""

    module: str
    level: int
    names: tuple[str, ...] = ()


def differentiates(data: bytes) -> bool:
    """May the code of a file compute gradients, judged by its bytes?"""
    return _DIFFERENTIATES.search(data) is not None


def may_call(data: bytes) -> bool:
    """May the top-level code of a file call something, judged by its bytes?"""
    return _CALLS.search(data) is not None


def imports_in(data: bytes) -> Iterator[Imported]:
    """The imports of a file, wherever in it, judged by its bytes."""
    for dots, module, names, whole in _IMPORTS.findall(data):
        if whole:
            yield Imported(whole.decode(), 0)
        else:
            found = (name.decode() for name in _NAME.findall(names))
            yield Imported(module.decode(), len(dots), tuple(found))


def definition_in(data: bytes, name: str) -> bytes | None:
    """The text of the class or function of a name at the top level of a file; None where there is none."""
    found = re.search(
        rb"^(?:async[ \t]+)?(?:def|class)[ \t]+" + re.escape(name.encode()) + rb"\b", data, re.MULTILINE
    )
    if found is None:
        return None
    end = _MARGIN.search(data, found.end())
    return data[found.start() : end.start() if end else len(data)]


def is_function_class(definition: bytes) -> bool:
    """May a class derive from torch.autograd.Function?"""
    return _FUNCTION_CLASS.match(definition) is not None


def called_imports(outline: Outline) -> Iterator[Imported]:
    """The imports at the top level of a file of which its top-level code calls something, when it runs."""
    bound = _bound(outline)
    found = {name for code in running_code(outline) for name, _ in _calls(bound, code)} if bound else ()
    yield from dict.fromkeys(bound[name] for name in sorted(found))


def calls_of_units(outline: Outline) -> Iterator[tuple[Unit, Imported, str]]:
    """What each function calls of what its file imports, and the attribute of that, if any."""
    bound = _bound(outline)
    for unit in outline.units if bound else ():
        for name, attribute in dict.fromkeys(_calls(bound, unit.text)):
            yield unit, bound[name], attribute


def imported_bases(outline: Outline) -> Iterator[tuple[str, Imported, str]]:
    """The classes of a file with each base that it imports, and the attribute of that, if any."""
    bound = _bound(outline)
    statements = _top_level(outline.body) if bound else ()
    classes = [each for each in statements if isinstance(each, ast.ClassDef)]
    for name, base in ((heir.name, base) for heir in classes for base in heir.bases):
        first = base.value if isinstance(base, ast.Attribute) else base
        if isinstance(first, ast.Name) and first.id in bound:
            yield name, bound[first.id], base.attr if isinstance(base, ast.Attribute) else ""


def _bound(outline: Outline) -> dict[str, Imported]:
    """What imports at the top level of a file bind."""
    return {
        name: imported for statement in _top_level(outline.body) for name, imported in _bound_by(statement)
    }


def _calls(bound: dict[str, Imported], code: str) -> list[tuple[str, str]]:
    """The names among these of which code calls something, and the attribute of that, if any."""
    names = "|".join(map(re.escape, sorted(bound)))
    return re.findall(rf"(?<![\w.])({names})(?:\.(\w+))?(?:\.\w+)*\(", code)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body and of the `if` and `try` statements in it."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try):
            yield from _top_level(statement.body)
            yield from _top_level(statement.orelse)


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, Imported]]:
    """The names that an import binds, and what each of them is."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], Imported(alias.name, 0)
    elif isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name, Imported(statement.module or "", statement.level, (alias.name,))
