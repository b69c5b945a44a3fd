"""Patterns of files in the syntax of .gitignore files, which decide as git does.

Git asks of every file and folder on its own, on the way down: the last pattern that matches it decides, and
what lies in a folder that is left out is never asked about.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_TRAILING_BLANKS = re.compile(r"(?<!\\) +$")
_REPEATED = re.compile(r"(?<![^/])(?:\*\*/)+")
# What cannot stand for itself between the brackets of a regular expression.
_SPECIAL = re.compile(r"[\[\]\\&~|^]")

# What several folders may be, and what one name may hold.
_ANY_FOLDERS, _ANY_NAME, _ANY_CHARACTER = "(?:.*/)?", "[^/]*", "[^/]"
# The same, with as little as possible.
_FEWEST = {_ANY_FOLDERS: "(?:.*?/)??", _ANY_NAME: "[^/]*?"}
# Groups of expressions that become one need names of their own.
_numbers = itertools.count()


class PatternError(ValueError):
    """A text is no pattern."""


@dataclass(frozen=True)
class Patterns:
    """The patterns of one file, or of a configuration, for paths below a folder.

    Attributes:
        steps: what is looked at one after the other, the last pattern first: `(regular expression,
            whether it is for folders only, whether it leaves out)`.
    """

    steps: tuple[tuple[re.Pattern[str], bool, bool], ...]

    @classmethod
    def of(cls, lines: Iterable[str]) -> Patterns:
        """Compile lines of an ignore file, of which comments and empty ones say nothing.

        Raises:
            PatternError: a line is no pattern.
        """
        found = [parsed for line in reversed(list(lines)) if (parsed := _parsed(line)) is not None]
        # Neighbours that say the same are one expression: an ignore file often lists hundreds of names.
        return cls(
            tuple(
                (re.compile("|".join(text for _, text in group), re.DOTALL), *kind)
                for kind, group in groupby(found, key=lambda parsed: parsed[0])
            )
        )

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True to leave a file or folder out, False to take it back in, None when no pattern matches.

        Args:
            path: relative, with forward slashes.
            is_folder: whether it is a folder.
        """
        for expression, folders_only, leaves_out in self.steps:
            if (is_folder or not folders_only) and expression.fullmatch(path):
                return leaves_out
        return None

    def covers(self, path: str, is_folder: bool) -> bool:
        """Whether a walk from the top would not reach this file or folder."""
        folders = (path[:end] for end, character in enumerate(path) if character == "/")
        return any(self.decides(folder, True) for folder in folders) or self.decides(path, is_folder) is True


def _parsed(line: str) -> tuple[tuple[bool, bool], str] | None:
    """Whether a pattern is for folders only and whether it leaves out, and its regular expression."""
    text = _TRAILING_BLANKS.sub("", line)
    if not text or text.startswith("#"):
        return None
    bare = text.removeprefix("!")
    pattern = bare.removesuffix("/")
    if not pattern:
        return None
    anywhere = "" if "/" in pattern else _ANY_FOLDERS
    kind = (pattern != bare, bare == text)
    return kind, anywhere + _expression(_REPEATED.sub("**/", pattern.removeprefix("/")))


def _expression(pattern: str) -> str:
    """The regular expression of a pattern without its marks at either end.

    Raises:
        PatternError: it is none.
    """
    found: list[str] = []
    at = 0
    if pattern == "**":
        return ".+"
    if pattern.startswith("**/"):
        found, at = [_ANY_FOLDERS], 3
    while at < len(pattern):
        if pattern.startswith("/**/", at):
            found, at = [*found, "/", _ANY_FOLDERS], at + 4
        elif pattern[at:] == "/**":
            found, at = [*found, "/.+"], len(pattern)
        elif pattern[at] == "*":
            found.append(_ANY_NAME)
            at += len(pattern[at:]) - len(pattern[at:].lstrip("*"))
        elif pattern[at] == "[":
            text, at = _one_of(pattern, at)
            found.append(text)
        elif pattern[at] == "?":
            found, at = [*found, _ANY_CHARACTER], at + 1
        else:
            at += pattern[at] == "\\"
            if at == len(pattern):
                raise PatternError(f"{pattern!r} is not a pattern")
            found, at = [*found, re.escape(pattern[at])], at + 1
    return _joined(found, _ANY_FOLDERS, lambda part: _joined(part, _ANY_NAME, "".join))


def _joined(parts: list[str], wildcard: str, join: Callable[[list[str]], str]) -> str:
    """The expression of parts with a wildcard in some places.

    What stands between two wildcards is taken where it comes first: the second reaches all that is behind.
    Otherwise an expression with many wildcards tries all ways to share a name out among them.
    """
    between: list[list[str]] = [[]]
    for part in parts:
        if part == wildcard:
            between.append([])
        else:
            between[-1].append(part)
    first, *others = map(join, between)
    if not others:
        return first
    shortest = _FEWEST[wildcard]
    once = "".join(
        f"(?=(?P<{name}>{shortest}{text}))(?P={name})"
        for text in others[:-1]
        for name in (f"w{next(_numbers)}",)
    )
    return f"{first}{once}{wildcard}{others[-1]}"


def _one_of(pattern: str, start: int) -> tuple[str, int]:
    """The expression for the `[abc]`, `[a-z]` or `[!a]` that begins there, and where it ends.

    Raises:
        PatternError: it is not closed, or a range runs backwards.
    """
    first = start + 1
    negated = pattern[first : first + 1] in ("!", "^")
    first += negated
    end = pattern.find("]", first + 1)
    inner = _SPECIAL.sub(r"\\\g<0>", pattern[first:end])
    text = f"(?!/)[{'^' if negated else ''}{inner}]"
    try:
        re.compile(text)
    except re.error as error:
        raise PatternError(f"{pattern!r} is not a pattern") from error
    if end < 0:
        raise PatternError(f"{pattern!r} is not a pattern")
    return text, end + 1
