"""Light nodes made from Python's own tree of a program: ten times quicker than parsing it with libcst.

The tree lowers to the same instructions as that of libcst's parser. Blanks and comments are not in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from gradcheck_tool.ir import syntax
from gradcheck_tool.ir.light_spans import LightSpans

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable

    from gradcheck_tool.ir.outline import Outline

# The constructors of light nodes take fewer fields than those that type checkers know them by.
light: Any = syntax

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


def at(origin: ast.AST, made: Any) -> Any:
    """A light node that stands where one of Python's tree does, or at a part of it that has no node there."""
    made.origin = origin
    return made


class Converter:
    """Converts trees of one program.

    `spans` tells where their nodes stand in the outline's program. Unless it is to be `whole`, the bodies of
    the functions of modules and classes are left out: `bodies` has their statements by the functions' nodes.
    """

    def __init__(self, outline: Outline, *, whole: bool = False) -> None:
        self.bodies: dict[syntax.CSTNode, list[ast.stmt]] = {}
        self.spans = LightSpans(outline.lines)
        self._whole = whole

    def module(self, statements: Iterable[ast.stmt]) -> syntax.Module:
        """The tree of a module of these statements."""
        return light.Module(self._statements(statements))  # type: ignore[no-any-return]

    def body(self, function: Any) -> syntax.IndentedBlock:
        """The body that was left out of a function, which has it from now on; nothing is left out of it."""
        self._whole = True
        try:
            made: syntax.IndentedBlock = self.suite(self.bodies[function])
        finally:
            self._whole = False
        function.body = made
        return made

    def body_or_later(self, statements: list[ast.stmt]) -> tuple[Any, bool]:
        """The body of a function, and whether it is left out."""
        return (self.suite(statements), False) if self._whole else (light.IndentedBlock(()), True)

    def node(self, node: ast.AST) -> Any:
        """The light node of a statement, an expression or a pattern."""
        made = _CONVERSIONS[node.__class__.__name__](self, node)
        made.origin = node
        return made

    def optional(self, node: ast.AST | None) -> Any:
        """The light node of what may be absent."""
        return None if node is None else self.node(node)

    def suite(self, statements: Iterable[ast.stmt]) -> Any:
        """The statements in a compound one."""
        return light.IndentedBlock(self._statements(statements))

    def otherwise(self, statements: list[ast.stmt]) -> Any:
        """The statements after `else`."""
        return light.Else(self.suite(statements)) if statements else None

    def _statements(self, statements: Iterable[ast.stmt]) -> list[Any]:
        made = []
        for statement in statements:
            node = self.node(statement)
            made.append(
                light.SimpleStatementLine((node,)) if statement.__class__.__name__ in _SIMPLE else node
            )
        return made
