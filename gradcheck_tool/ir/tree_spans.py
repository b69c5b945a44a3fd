"""Where the nodes of a libcst tree stand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gradcheck_tool.ir.recursion import with_deep_recursion
from gradcheck_tool.ir.spans import UnplacedError, text_between
from gradcheck_tool.sources.source import split_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst as cst
    from libcst.metadata import CodeRange

    from gradcheck_tool.ir.spans import Span


class TreeSpans:
    """Spans of the nodes of one program. The first question costs about twice as much as parsing it."""

    def __init__(self, tree: cst.Module, source: str, filename: str) -> None:
        self._tree = tree
        self._source = source.removeprefix("\ufeff")
        self._filename = filename

    def span(self, node: cst.CSTNode) -> Span:
        """Start and end of a node, without parentheses around it.

        Raises:
            UnplacedError: the tree does not contain it.
        """
        found = self._ranges.get(node)
        if found is None:
            raise UnplacedError(node)
        return (
            (found.start.line, found.start.column + self._lost_columns.get(found.start.line, 0)),
            (found.end.line, found.end.column + self._lost_columns.get(found.end.line, 0)),
        )

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node.

        Raises:
            UnplacedError: the tree does not contain it.
        """
        return text_between(self._lines, *self.span(node))

    @cached_property
    def _lines(self) -> list[str]:
        return split_lines(self._source)

    @cached_property
    def _ranges(self) -> Mapping[cst.CSTNode, CodeRange]:
        from libcst.metadata import MetadataWrapper, PositionProvider

        wrapper = MetadataWrapper(self._tree, unsafe_skip_copy=True)
        return with_deep_recursion(lambda: wrapper.resolve(PositionProvider), self._filename)

    @cached_property
    def _lost_columns(self) -> dict[int, int]:
        """How many characters at the start of a row the tree lacks.

        libcst drops form feeds, and spaces with them, before statements that are not indented.
        """
        if "\f" not in self._source:
            return {}
        printed = split_lines(with_deep_recursion(lambda: self._tree.code, self._filename))
        return {
            row: len(line) - len(kept)
            for row, (line, kept) in enumerate(zip(self._lines, printed, strict=False), start=1)
            if len(line) > len(kept)
        }
