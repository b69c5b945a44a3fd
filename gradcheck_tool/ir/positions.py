"""Where a node stands in the source text, computed only when a finding asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.ir.spans import Place

# A report on a compound statement underlines its head: up to the end of this part of it.
_LAST_OF_HEAD: dict[str, Callable[[Any], cst.CSTNode]] = {
    "For": lambda node: node.iter,
    "While": lambda node: node.test,
    "If": lambda node: node.test,
    "With": lambda node: node.items[-1],
    "Match": lambda node: node.subject,
    "MatchCase": lambda node: node.guard or node.pattern,
}

_KEYWORDS = {
    "Try": "try",
    "TryStar": "try",
    "ExceptHandler": "except",
    "ExceptStarHandler": "except",
    "Else": "else",
    "Finally": "finally",
    "Module": "",
}


def locate(module: ModuleIR, node: cst.CSTNode) -> Location:
    """The span that a report on a node of the module underlines.

    That is the whole expression or simple statement, the name of a function or class, and the
    head of any other compound statement.

    Raises:
        UnplacedError: nothing tells where the node stands.
    """
    span = module.spans.span
    kind = type(node).__name__
    named: Any = node
    start, end = span(named.name if kind in ("FunctionDef", "ClassDef") else node)
    if kind in _KEYWORDS:
        end = start[0], start[1] + len(_KEYWORDS[kind])
    elif kind in _LAST_OF_HEAD:
        end = span(_LAST_OF_HEAD[kind](node))[1]
    return Location(module.filename, _position(start), _position(end))


def _position(place: Place) -> Position:
    row, column = place
    return Position(row, column + 1)
