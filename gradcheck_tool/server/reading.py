"""What of a text decides what is found in it. Most keys change nothing of that, or leave no program."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass

# Comments that say something to gradlint; no other comment matters.
_COMMENT = re.compile(r"#.*(?:noqa|gradlint).*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What decides: the tree with all its places, and the comments that matter, with their rows."""

    tree: str
    comments: tuple[tuple[int, str], ...]


def read(text: str) -> Reading | None:
    """What decides of a text; None where this Python's parser refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        dumped = ast.dump(tree, include_attributes=True)
    except RecursionError:
        dumped = text
    rows = enumerate(text.split("\n"), start=1) if _COMMENT.search(text) else ()
    return Reading(dumped, tuple((row, line) for row, line in rows if _COMMENT.search(line)))
