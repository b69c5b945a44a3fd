"""Where nodes stand in the text of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import libcst as cst

# Rows are 1-based, columns 0-based, in characters; ends are exclusive.
Place = tuple[int, int]
Span = tuple[Place, Place]


class UnplacedError(LookupError):
    """Nothing tells where a node stands."""


class Spans(Protocol):
    """The places of the nodes of one program. Parentheses around a node are no part of it."""

    def span(self, node: cst.CSTNode) -> Span:
        """Start and end of a node.

        Raises:
            UnplacedError: nothing tells where it stands.
        """

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node."""


def text_between(lines: Sequence[str], start: Place, end: Place) -> str:
    """The text between two places of a program, which is given as its lines without a byte order mark."""
    between = list(lines[start[0] - 1 : end[0]])
    between[-1] = between[-1][: end[1]]
    between[0] = between[0][start[1] :]
    return "\n".join(between)
