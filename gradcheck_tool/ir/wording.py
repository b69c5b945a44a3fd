"""Source text as messages quote it."""

from __future__ import annotations

import io
import re
import tokenize

# Blanks that line breaks leave next to brackets.
_PADDING = re.compile(r"(?<=[(\[{]) | (?=[)\]}])")


def one_line(text: str) -> str:
    """An expression or statement on one line, without the comments in it."""
    if "\n" not in text:
        return " ".join(text.split())
    joined = " ".join(_without_comments(text).replace("\\\n", "\n").split())
    return _PADDING.sub("", joined)


def _without_comments(text: str) -> str:
    """Drop the comments of an expression that spans several lines."""
    if "#" not in text:
        return text
    # Parentheses let an expression continue past the end of a line.
    readline = io.StringIO(f"({text}\n)").readline
    lines = text.split("\n")
    try:
        for token in tokenize.generate_tokens(readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][: column - (row == 1)]
    except (tokenize.TokenError, SyntaxError):
        return text
    return "\n".join(lines)
