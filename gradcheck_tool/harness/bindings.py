"""What the names of one file are bound to, read from its syntax: classes, imports and aliases.

The same name may be bound in several places (`try` and `except ImportError`, `if` and `else`); every
binding counts, because which of them runs is known only when the file runs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradcheck_tool.harness.functions import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that comes from another module; `attribute` is None where it is the module itself."""

    module: str
    level: int
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Alias:
    """A name that is assigned another name, written with its dots."""

    dotted: str


@dataclass(frozen=True, slots=True, eq=False)
class ClassStatement:
    """A class of the file. `bases` are the bases that are names, written with their dots."""

    qualname: str
    bases: tuple[str, ...]
    rows: Rows
    methods: dict[str, Rows]
    scope: Scope


Binding = Imported | Alias | ClassStatement


@dataclass(slots=True, eq=False)
class Scope:
    """A module, function or class body: what its names are bound to, and the scope around it."""

    outer: Scope | None = None
    is_class: bool = False
    names: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)

    def lookup(self, name: str) -> list[Binding]:
        """What a name may mean here; a function inside a class does not see the names of the class."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return scope.names[name]
            scope = scope.outer
        return []


@dataclass(frozen=True, slots=True, eq=False)
class FileNames:
    """The bindings of one file, its classes in order, and the dots of its widest relative import."""

    scope: Scope
    classes: tuple[ClassStatement, ...]
    level: int


def read_names(text: str) -> FileNames:
    """Collect the bindings of a program.

    Raises:
        SyntaxError: this Python cannot parse it, and so cannot import it either.
        ValueError: it holds a null byte.
    """
    reader = _Reader()
    top = Scope()
    reader.body(ast.parse(text).body, top, "")
    return FileNames(top, tuple(reader.classes), reader.level)


class _Reader:
    def __init__(self) -> None:
        self.classes: list[ClassStatement] = []
        self.level = 0

    def body(self, statements: list[ast.stmt], scope: Scope, prefix: str) -> None:
        for statement in statements:
            self._statement(statement, scope, prefix)

    def _statement(self, node: ast.stmt, scope: Scope, prefix: str) -> None:
        if isinstance(node, ast.ClassDef):
            self._class(node, scope, prefix)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.body(node.body, Scope(scope), f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.Import):
            for name in node.names:
                module = name.name if name.asname else name.name.split(".")[0]
                _bind(scope, name.asname or module, Imported(module, 0))
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node, scope)
        elif isinstance(node, ast.Assign) and (dotted := _dotted(node.value)):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    _bind(scope, target.id, Alias(dotted))
        else:
            for block in _blocks(node):
                self.body(block, scope, prefix)

    def _class(self, node: ast.ClassDef, scope: Scope, prefix: str) -> None:
        inner = Scope(scope, is_class=True)
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        made = ClassStatement(
            qualname=prefix + node.name,
            bases=tuple(filter(None, map(_dotted, node.bases))),
            rows=Rows(first, node.end_lineno or node.lineno, node.col_offset + 1),
            methods=dict(_methods(node.body)),
            scope=scope,
        )
        self.classes.append(made)
        _bind(scope, node.name, made)
        self.body(node.body, inner, f"{prefix}{node.name}.")

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        self.level = max(self.level, node.level)
        for name in node.names:
            found = Imported(node.module or "", node.level, name.name)
            if name.name == "*":
                scope.stars.append(found)
            else:
                _bind(scope, name.asname or name.name, found)


def _bind(scope: Scope, name: str, binding: Binding) -> None:
    scope.names.setdefault(name, []).append(binding)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement that runs in the scope it stands in."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _methods(body: list[ast.stmt]) -> Iterator[tuple[str, Rows]]:
    """The functions of a class body, conditional ones too: name, and rows from `def` on."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, Rows(node.lineno, node.end_lineno or node.lineno, node.col_offset + 1)
        elif not isinstance(node, ast.ClassDef):
            for block in _blocks(node):
                yield from _methods(block)


def _dotted(node: ast.expr) -> str | None:
    """`a.b.c` for a name with attributes; the parameters of a generic class do not count."""
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else None
    return node.id if isinstance(node, ast.Name) else None
