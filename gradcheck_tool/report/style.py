"""Terminal styles of the code frames, links, and widths on a terminal.

Rich, which knows how wide characters are, takes longer to import than most reports take to be made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Style = Literal["red", "yellow", "cyan", "blue", "bold", "dim"]
Paint = Callable[[str, Style], str]

# Colours of the fixed part of the palette, of a middling lightness: they are read on a dark ground as on a
# light one, where a theme's own yellow or blue would vanish. What stands out is bold.
_CODES = {
    "red": "1;38;5;196",
    "yellow": "1;38;5;136",
    "cyan": "1;38;5;31",
    "blue": "38;5;32",
    "bold": "1",
    "dim": "38;5;244",
}


def painter(color: bool) -> Paint:
    """What puts text between the codes that switch a style on and off, or leaves it as it is."""
    return _painted if color else lambda text, _: text


def _painted(text: str, style: Style) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def linked(text: str, address: str) -> str:
    """Text that a terminal opens an address for (OSC 8); others show the text alone.

    Args:
        text: what is shown.
        address: without characters that would end the link.
    """
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
