"""Where the nodes of a libcst tree stand."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from gradcheck_tool.ir.recursion import with_deep_recursion

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst as cst

    from gradcheck_tool.ir.light_spans import Span
    from gradcheck_tool.ir.nodes import ModuleIR

_LINE_END = re.compile(r"\r\n|\r|\n")


class TreeSpans:
    """Spans of the nodes of one module."""

    def __init__(self, module: ModuleIR) -> None:
        self._module = module

    def span(self, node: cst.CSTNode) -> Span:
        """Start and end of a node, without parentheses around it.

        Raises:
            KeyError: the module's tree does not contain it.
        """
        found = self._ranges[node]
        return (
            (found.start.line, found.start.column + self._lost_columns.get(found.start.line, 0)),
            (found.end.line, found.end.column + self._lost_columns.get(found.end.line, 0)),
        )

    @cached_property
    def _ranges(self) -> Mapping[cst.CSTNode, CodeRange]:
        wrapper = MetadataWrapper(self._module.tree, unsafe_skip_copy=True)
        return with_deep_recursion(lambda: wrapper.resolve(PositionProvider), self._module.filename)

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
