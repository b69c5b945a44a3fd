"""Words in lines of a terminal's width: one that breaks lines itself breaks words, and buries the gutter."""

from __future__ import annotations

import re

from gradcheck_tool.report.style import columns

# Where a word that is wider than the line may end: behind punctuation of code and of paths.
_PIECES = re.compile(r"[^.,(\[{/=_:\-]*[.,(\[{/=_:\-]+|[^.,(\[{/=_:\-]+")
_WORD = re.compile(r"\w")


def wrapped(text: str, room: int | None, first: int | None = None) -> list[str]:
    """The text in lines of at most `room` columns; as it is where that is None.

    Args:
        text: words with blanks between them.
        room: columns of a line.
        first: columns of the first line, where these are fewer.
    """
    if room is None or columns(text) <= (room if first is None else first):
        return [text]
    lines: list[str] = []
    line, left = "", room if first is None else first
    for word in text.split(" "):
        if columns(f"{line} {word}" if line else word) <= left:
            line = f"{line} {word}" if line else word
            continue
        # An empty first line says that not even one word fits beside what stands there.
        if line or not lines:
            lines.append(line)
        *whole, line = _fitting(word, room)
        lines += whole
        left = room
    return [*lines, line] if first is not None or lines[0] else [*lines[1:], line]


def _fitting(word: str, room: int) -> list[str]:
    """A word in pieces that fit into a line: the word alone, wherever it does."""
    if columns(word) <= room:
        return [word]
    pieces: list[str] = []
    line = ""
    for piece in _PIECES.findall(word):
        if line and columns(line + piece) > room:
            pieces.append(line)
            line = ""
        line += piece
        while columns(line) > room:
            cut = _cut(line, room)
            pieces.append(line[:cut])
            line = line[cut:]
    return [*pieces, line]


def _cut(text: str, room: int) -> int:
    """How many characters of a text fit into a line."""
    end = max(1, room)
    while end > 1 and columns(text[:end]) > room:
        end -= 1
    return end


def is_inside_word(text: str, place: int) -> bool:
    """Whether a cut before this character would break a word of a program."""
    return 0 < place < len(text) and bool(_WORD.match(text[place - 1]) and _WORD.match(text[place]))
