"""Where a node stands in the source text, computed only when a finding asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    import libcst as cst

    from gradcheck_tool.ir.light_spans import Place, Span
    from gradcheck_tool.ir.nodes import ModuleIR

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


class Positions:
    """Locations of the nodes of one module.

    In a tree of libcst's, the first question costs about twice as much as parsing it.
    """

    def __init__(self, module: ModuleIR) -> None:
        self._filename = module.filename
        self._span: Callable[[Any], Span]
        if module.light:
            tree: Any = module.tree
            self._span = tree.spans.span
        else:
            from gradcheck_tool.ir.tree_spans import TreeSpans

            self._span = TreeSpans(module).span

    def locate(self, node: cst.CSTNode) -> Location:
        """The span that a report on `node` underlines.

        That is the whole expression or simple statement, the name of a function or class, and the
        head of any other compound statement.

        Raises:
            KeyError: the module's tree of libcst's does not contain `node`.
            UnplacedError: nothing tells where a light node stands.
        """
        kind = type(node).__name__
        named: Any = node
        start, end = self._span(named.name if kind in ("FunctionDef", "ClassDef") else node)
        if kind in _KEYWORDS:
            end = start[0], start[1] + len(_KEYWORDS[kind])
        elif kind in _LAST_OF_HEAD:
            end = self._span(_LAST_OF_HEAD[kind](node))[1]
        return Location(self._filename, _position(start), _position(end))


def _position(place: Place) -> Position:
    row, column = place
    return Position(row, column + 1)
