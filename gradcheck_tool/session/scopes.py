"""The names of a file: what functions, classes and the file store under them, and what imports bind."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_REBINDS = (ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension, ast.NamedExpr)


@dataclass(eq=False)
class Scope:
    """A function, a class or a file.

    Attributes:
        path: the file.
        outer: the scope around, if any.
        names: what is stored under each name; under `self.name` in classes. None is what is not known.
        classes: the classes that are defined at the top level of a file, or inside a function.
        functions: the functions and methods that are defined in it.
        calls_in: the calls in it, but for those of inner scopes.
        imports: what imports bind: module, level, and the name that is taken from the module, or None.
        stars: the modules all of whose names are taken.
    """

    path: Path
    outer: Scope | None = None
    names: dict[str, list[ast.expr | None]] = field(default_factory=dict)
    classes: dict[str, Scope] = field(default_factory=dict)
    functions: dict[str, Scope] = field(default_factory=dict)
    calls_in: list[ast.Call] = field(default_factory=list)
    returned: list[ast.expr | None] = field(default_factory=list)
    imports: dict[str, tuple[str, int, str | None]] = field(default_factory=dict)
    stars: list[tuple[str, int]] = field(default_factory=list)
    is_class: bool = False

    @property
    def top(self) -> Scope:
        """The file."""
        return self if self.outer is None else self.outer.top

    def calls(self, name: str) -> Sequence[tuple[Scope, ast.Call]]:
        """The calls of what has such a last name, here and in inner scopes."""
        return self._by_name.get(name, ())

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[Scope, ast.Call]]]:
        found: dict[str, list[tuple[Scope, ast.Call]]] = {}
        for scope in self.with_inner():
            for call in scope.calls_in:
                found.setdefault(last_name(call.func), []).append((scope, call))
        return found

    def with_inner(self) -> Iterator[Scope]:
        """The scope and all scopes inside it."""
        yield self
        for inner in (*self.classes.values(), *self.functions.values()):
            yield from inner.with_inner()

    def results(self) -> list[ast.expr]:
        """What a function returns; nothing where that is not known."""
        return [each for each in self.returned if each is not None] if None not in self.returned else []

    def binds(self, name: str) -> bool:
        """Does a function around give a name a meaning of its own?"""
        return self.outer is not None and (name in self.names or self.outer.binds(name))

    def stored(self, value: ast.expr) -> tuple[Scope, list[ast.expr | None]]:
        """What a name or an attribute of `self` stands for, and where that is stored."""
        at: Scope | None = self
        if isinstance(value, ast.Name):
            while at is not None and (at.is_class or value.id not in at.names):
                at = at.outer
            return (self, []) if at is None else (at, at.names[value.id])
        if (
            isinstance(value, ast.Attribute)
            and isinstance(value.value, ast.Name)
            and value.value.id == "self"
        ):
            while at is not None and not at.is_class:
                at = at.outer
            return (self, []) if at is None else (at, at.names.get(f"self.{value.attr}", []))
        return self, []

    def dotted(self, value: ast.expr) -> str:
        """The full name of what a file imports from a library; empty for anything else."""
        if isinstance(value, ast.Attribute):
            inner = self.dotted(value.value)
            return f"{inner}.{value.attr}" if inner else ""
        bound = self.imports.get(value.id) if isinstance(value, ast.Name) else None
        if bound is None or bound[1]:
            return ""
        return bound[0] if bound[2] is None else f"{bound[0]}.{bound[2]}"

    def imported(self, value: ast.expr) -> tuple[str, int] | None:
        """The module that an expression names, and the dots before it."""
        bound = self.imports.get(value.id) if isinstance(value, ast.Name) else None
        if bound is not None:
            module, level, name = bound
            return (module if name is None else f"{module}.{name}".lstrip("."), level)
        whole = self.dotted(value)
        return (whole, 0) if whole else None

    def sources(self, name: str) -> list[tuple[str, int, str]]:
        """The modules that a name may be imported from, and its name there."""
        bound = self.imports.get(name)
        if bound is not None:
            return [] if bound[2] is None else [(bound[0], bound[1], bound[2])]
        return [(module, level, name) for module, level in self.stars]


def last_name(value: ast.expr) -> str:
    """The last part of a dotted name; empty for anything else."""
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def scopes_of(path: Path, data: bytes) -> Scope:
    """The scopes of a file.

    Raises:
        SyntaxError, ValueError, RecursionError: it is not Python, or nested too deeply.
    """
    top = Scope(path)
    _Reader(top).read(ast.parse(data).body)
    return top


class _Reader:
    """Reads the statements of one scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, _FUNCTIONS):
            self._function(node)
            return
        if isinstance(node, ast.ClassDef):
            inner = Scope(self._scope.path, self._scope, is_class=True)
            self._scope.classes[node.name] = inner
            _Reader(inner).read(node.body)
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._store(target, node.value)
        elif isinstance(node, ast.AnnAssign):
            self._store(node.target, node.value)
        elif isinstance(node, _REBINDS):
            self._store(node.target, None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._store(node.optional_vars, None)
        elif isinstance(node, ast.Return):
            self._scope.returned.append(node.value)
        elif isinstance(node, ast.Call):
            self._scope.calls_in.append(node)
        for child in ast.iter_child_nodes(node):
            self._visit(child)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        inner = Scope(self._scope.path, self._scope)
        self._scope.functions[node.name] = inner
        given = node.args
        names = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        inner.names.update({arg.arg: [None] for arg in names if arg is not None})
        _Reader(inner).read(node.body)

    def _store(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            whole = len(parts) == len(target.elts)
            for index, each in enumerate(target.elts):
                self._store(each, parts[index] if whole else None)
        elif isinstance(target, ast.Name):
            self._scope.names.setdefault(target.id, []).append(value)
        elif (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
        ):
            at: Scope | None = self._scope
            while at is not None and not at.is_class:
                at = at.outer
            if at is not None:
                at.names.setdefault(f"self.{target.attr}", []).append(value)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        bound = self._scope.top.imports
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0],
                    0,
                    None,
                )
            elif alias.name == "*":
                self._scope.top.stars.append((node.module or "", node.level))
            else:
                bound[alias.asname or alias.name] = (node.module or "", node.level, alias.name)
