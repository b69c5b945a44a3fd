"""The characters that pictures are drawn with on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradcheck_tool.report.picture.lanes import Look


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of a drawing."""

    down: str
    across: str
    cross: str
    top: str
    bottom: str
    down_from: str
    up_from: str
    head: str
    looks: dict[Look, str]
    cut: str


UNICODE = Glyphs(
    "│", "─", "┼", "╭", "╰", "┬", "┴", "▶", {"set": "●", "changed": "◆", "gone": "○", "wrong": "✗"}, "…"
)
ASCII = Glyphs(
    "|", "-", "+", ".", "'", "+", "+", ">", {"set": "*", "changed": "#", "gone": "o", "wrong": "x"}, "~"
)
