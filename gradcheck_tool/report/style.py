"""Terminal styles of the code frames, and widths on a terminal.

Rich, which knows how wide characters are, takes longer to import than most reports take to be made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import typer

Style = Literal["red", "yellow", "cyan", "blue", "bold", "dim"]
Paint = Callable[[str, Style], str]

# What stands out: severities.
_LOUD = ("red", "yellow", "cyan")


def painter(color: bool) -> Paint:
    """What puts text between the codes that switch a style on and off, or leaves it as it is."""
    return _painted if color else lambda text, _: text


def _painted(text: str, style: Style) -> str:
    if style in ("bold", "dim"):
        return typer.style(text, bold=style == "bold" or None, dim=style == "dim" or None)
    return typer.style(text, fg=style, bold=style in _LOUD or None)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
