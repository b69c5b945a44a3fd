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
    """What decides: all that the tree holds, places included, and the comments that matter by their rows."""

    tree: list[object]
    comments: tuple[tuple[int, str], ...]


def read(text: str) -> Reading | None:
    """What decides of a text; None where this Python's parser refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    rows = enumerate(text.split("\n"), start=1) if _COMMENT.search(text) else ()
    return Reading(_flat(tree), tuple((row, line) for row, line in rows if _COMMENT.search(line)))


def _flat(tree: ast.AST) -> list[object]:
    """All that a tree holds, in one list; `ast.dump` takes three times as long."""
    flat: list[object] = []
    waiting: list[object] = [tree]
    while waiting:
        part = waiting.pop()
        kind = part.__class__
        flat.append(kind)
        if kind is list:
            flat.append(len(part))  # type: ignore[arg-type]
            waiting += part  # type: ignore[arg-type]
        elif isinstance(part, ast.AST):
            waiting += part.__dict__.values()
        else:
            flat.append(part)
    return flat
