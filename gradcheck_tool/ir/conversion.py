"""libcst nodes made from Python's own tree of the same program: ten times quicker than parsing it again.

The tree lowers to the same instructions as that of libcst's parser, and prints as the same program but for
parentheses. Blanks, comments and positions are not in it.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

import libcst as cst

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

Conversion = TypeVar("Conversion", bound="Callable[[Converter, Any], Any]")

# How to convert each kind of node, by the name of its class: some are not in every version of Python.
_CONVERSIONS: dict[str, Callable[[Converter, Any], Any]] = {}
_SIMPLE: set[str] = set()


def converts(*kinds: str) -> Callable[[Conversion], Conversion]:
    """Register a function that converts these kinds of nodes, compound statements among them."""

    def register(conversion: Conversion) -> Conversion:
        _CONVERSIONS.update(dict.fromkeys(kinds, conversion))
        return conversion

    return register


def converts_simple(*kinds: str) -> Callable[[Conversion], Conversion]:
    """Register a function that converts these kinds of statements, which stand on a line."""
    _SIMPLE.update(kinds)
    return converts(*kinds)


def maker(kind: type[cst.CSTNode], *names: str, **fixed: Any) -> Callable[..., Any]:
    """A function that makes nodes of a kind at a fraction of what the constructor takes.

    It validates nothing, and all its nodes share the values of the fields that are not named.

    Args:
        kind: the class of the nodes.
        names: fields in the order of the function's arguments; all that have no default are among them.
        fixed: fields that are not to have their defaults.
    """
    made_of: dict[str, Any] = {"new": object.__new__, "kind": kind}
    lines = [f"def make({', '.join(names)}):", "    node = new(kind)"]
    for field in fields(kind):
        name = field.name
        made_of[f"set_{name}"] = _setter(kind, name)
        if name not in names:
            made_of[f"shared_{name}"] = fixed[name] if name in fixed else _default(field)
        lines.append(f"    set_{name}(node, {name if name in names else f'shared_{name}'})")
    # Written out, as `dataclasses` does it, this takes less than half the time of loops over the fields.
    exec("\n".join([*lines, "    return node"]), made_of)  # noqa: S102 - the text has names of fields only
    make: Callable[..., Any] = made_of["make"]
    return make


def _setter(kind: type[cst.CSTNode], name: str) -> Callable[[Any, Any], None]:
    """Nodes are frozen, but their slots can be filled."""
    setter: Callable[[Any, Any], None] = getattr(kind, name).__set__
    return setter


def _default(field: Any) -> Any:
    return field.default_factory() if field.default is MISSING else field.default


_LINE = maker(cst.SimpleStatementLine, "body")
_BLOCK = maker(cst.IndentedBlock, "body")
_ELSE = maker(cst.Else, "body")


class Converter:
    """Converts trees of one program.

    The bodies of the functions of modules and classes are left out: `bodies` has their statements by the
    nodes of the functions.
    """

    def __init__(self) -> None:
        self.bodies: dict[cst.CSTNode, list[ast.stmt]] = {}
        self._in_function = False

    def module(self, statements: Iterable[ast.stmt]) -> cst.Module:
        """The tree of a module of these statements."""
        return cst.Module(self._statements(statements))

    def body(self, function: cst.CSTNode) -> cst.IndentedBlock:
        """The body that was left out of a function; nothing is left out of it."""
        self._in_function = True
        try:
            return self.suite(self.bodies[function])  # type: ignore[no-any-return]
        finally:
            self._in_function = False

    def body_or_later(self, statements: list[ast.stmt]) -> tuple[Any, bool]:
        """The body of a function, and whether it is left out."""
        return (self.suite(statements), False) if self._in_function else (_BLOCK(()), True)

    def node(self, node: ast.AST) -> Any:
        """The libcst node of a statement, an expression or a pattern."""
        return _CONVERSIONS[node.__class__.__name__](self, node)

    def optional(self, node: ast.AST | None) -> Any:
        """The libcst node of what may be absent."""
        return None if node is None else self.node(node)

    def suite(self, statements: Iterable[ast.stmt]) -> Any:
        """The statements in a compound one."""
        return _BLOCK(self._statements(statements))

    def otherwise(self, statements: list[ast.stmt]) -> Any:
        """The statements after `else`."""
        return _ELSE(self.suite(statements)) if statements else None

    def _statements(self, statements: Iterable[ast.stmt]) -> list[Any]:
        made = []
        for statement in statements:
            node = self.node(statement)
            made.append(_LINE((node,)) if statement.__class__.__name__ in _SIMPLE else node)
        return made
