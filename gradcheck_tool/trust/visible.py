"""Texts of a checked tree where people read them: on a terminal, and in a log that a CI service interprets.

File names, source lines and error messages may hold characters that move the cursor, turn the direction of
reading, or begin a line that a CI service takes for a command. They are shown as escapes.
"""

from __future__ import annotations

import re
from typing import Any

# What CI services take for a command: GitHub at the beginning of a line, Azure and older GitHub anywhere.
_COMMAND_LINE = re.compile(r"^(\s*)::", re.MULTILINE)
COMMAND = re.compile(r"##(\w*)\[")


def visible(text: str) -> str:
    """A text in one line, with Python's escapes for what is not printable."""
    return visible_lines(text if text.isprintable() else "".join(map(_escaped, text)))


def visible_lines(text: str) -> str:
    """A text that may have several lines, whose ends stay."""
    if not text.replace("\n", "").isprintable():
        text = "".join(one if one == "\n" else _escaped(one) for one in text)
    return without_commands(text)


def visible_source(data: bytes) -> bytes:
    """Lines of a program, whose tabs stay, too."""
    text = data.decode(errors="surrogateescape")
    return "".join(one if one in "\n\t" else _escaped(one) for one in text).encode()


def without_commands(text: str) -> str:
    """The text with a backslash in what a CI service would take for a command."""
    if "::" in text:
        text = _COMMAND_LINE.sub(r"\1\\::", text)
    return COMMAND.sub(r"##\1\\[", text) if "##" in text else text


def visible_name(name: str) -> str:
    """The name of a file, which stays one that can be opened where only its beginning misleads."""
    return visible(f"./{name}" if name.startswith("::") else name)


def escaped_json(text: str) -> str:
    """JSON or TOML whose strings hold what would control something as escapes: the data stay the same."""
    if "##" in text:
        text = COMMAND.sub(r"##\1\\u005b", text)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(one if one == "\n" or one.isprintable() else _in_json(one) for one in text)


def visible_data(value: Any) -> Any:
    """Plain data whose texts are visible."""
    if isinstance(value, str):
        return visible_lines(value)
    if isinstance(value, list | tuple):
        return [visible_data(item) for item in value]
    if isinstance(value, dict):
        return {visible(str(key)): visible_data(item) for key, item in value.items()}
    return value


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    # Bytes of a file name that are no text are kept as lone surrogates.
    return character.encode("unicode_escape").decode("ascii")


def _in_json(character: str) -> str:
    return "".join(
        f"\\u{int.from_bytes(unit, 'big'):04x}"
        for unit in _units(character.encode("utf-16-be", "surrogatepass"))
    )


def _units(data: bytes) -> list[bytes]:
    return [data[at : at + 2] for at in range(0, len(data), 2)]
