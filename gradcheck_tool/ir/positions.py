"""Where a node stands in the source text, computed only when a finding asks for it."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.ir.recursion import with_deep_recursion
from gradcheck_tool.ir.wording import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradcheck_tool.ir.nodes import ModuleIR

_LINE_END = re.compile(r"\r\n|\r|\n")
_TEXT_LIMIT = 60

# A report on a compound statement underlines its head: up to the end of this part of it.
_LAST_OF_HEAD: dict[type[cst.CSTNode], Callable[[Any], cst.CSTNode]] = {
    cst.For: lambda node: node.iter,
    cst.While: lambda node: node.test,
    cst.If: lambda node: node.test,
    cst.With: lambda node: node.items[-1],
    cst.Match: lambda node: node.subject,
    cst.MatchCase: lambda node: node.guard or node.pattern,
}

_KEYWORDS: dict[type[cst.CSTNode], str] = {
    cst.Try: "try",
    cst.TryStar: "try",
    cst.ExceptHandler: "except",
    cst.ExceptStarHandler: "except",
    cst.Else: "else",
    cst.Finally: "finally",
    cst.Module: "",
}


class Positions:
    """Locations of the nodes of one module. The first question costs about twice as much as parsing it."""

    def __init__(self, module: ModuleIR) -> None:
        self._module = module

    def locate(self, node: cst.CSTNode) -> Location:
        """The span that a report on `node` underlines.

        That is the whole expression or simple statement, the name of a function or class, and the
        head of any other compound statement.

        Raises:
            KeyError: the module's tree does not contain `node`.
        """
        start, end = self._span(node)
        return Location(self._module.filename, self._position(*start), self._position(*end))

    def text(self, node: cst.CSTNode) -> str:
        """The source text that `locate` spans, on one line, without comments, shortened.

        Raises:
            KeyError: the module's tree does not contain `node`.
        """
        (row, column), (end_row, end_column) = self._span(node)
        lines = self._code_lines[row - 1 : end_row]
        lines[-1] = lines[-1][:end_column]
        lines[0] = lines[0][column:]
        text = one_line("\n".join(lines))
        return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 3] + "..."

    def _span(self, node: cst.CSTNode) -> tuple[tuple[int, int], tuple[int, int]]:
        """Start and end as 1-based rows and 0-based columns of the text that the tree prints."""
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            node = node.name
        whole = self._ranges[node]
        row, column = whole.start.line, whole.start.column
        kind = type(node)
        if kind in _KEYWORDS:
            return (row, column), (row, column + len(_KEYWORDS[kind]))
        end = self._ranges[_LAST_OF_HEAD[kind](node)].end if kind in _LAST_OF_HEAD else whole.end
        return (row, column), (end.line, end.column)

    def _position(self, row: int, column: int) -> Position:
        return Position(row, column + 1 + self._lost_columns.get(row, 0))

    @cached_property
    def _ranges(self) -> Mapping[cst.CSTNode, CodeRange]:
        wrapper = MetadataWrapper(self._module.tree, unsafe_skip_copy=True)
        return with_deep_recursion(lambda: wrapper.resolve(PositionProvider), self._module.filename)

    @cached_property
    def _code_lines(self) -> list[str]:
        """The lines that the columns of the tree count in."""
        lines = _LINE_END.split(self._module.source.removeprefix("\ufeff"))
        for row, lost in self._lost_columns.items():
            lines[row - 1] = lines[row - 1][lost:]
        return lines

    @cached_property
    def _lost_columns(self) -> dict[int, int]:
        """How many characters at the start of a row the tree lacks.

        libcst drops form feeds, and spaces with them, before statements that are not indented.
        """
        if "\f" not in self._module.source:
            return {}
        written = _LINE_END.split(self._module.source.removeprefix("\ufeff"))
        printed = _LINE_END.split(with_deep_recursion(lambda: self._module.tree.code, self._module.filename))
        return {
            row: len(line) - len(kept)
            for row, (line, kept) in enumerate(zip(written, printed, strict=False), start=1)
            if len(line) > len(kept)
        }
