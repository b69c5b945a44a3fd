"""What the last `gradlint gradcheck` said of each Function of a file, from its cache; nothing is run."""

from __future__ import annotations

import ast
import time
from typing import TYPE_CHECKING

from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.results import LastResult, last_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# How a run may have been made, as the names of its results have it.
_DEVICES = ("cpu", "cuda", "mps", "xpu")
_DTYPES = (None, "float64", "float32", "bfloat16", "float16")
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def lenses(path: Path, text: str, cache: Path, now: float | None = None) -> Iterator[tuple[int, str]]:
    """Rows of class statements in a text, and what is known of the Functions that they define.

    Args:
        path: the file, whose state on disk is what was checked.
        text: the file as the editor has it.
        cache: the folder of the cache.
        now: the time to count from.
    """
    rows = _classes(text)
    for ref in Discovery().functions([path]):
        row = rows.get(ref.qualname)
        found = [*_results(cache, ref.filename, ref.name)]
        if row is None:
            continue
        if not found:
            yield row, "not checked by gradcheck yet"
        for how, result in found:
            yield row, _words(how, result, path, time.time() if now is None else now)


def _results(cache: Path, filename: str, name: str) -> Iterator[tuple[str, LastResult]]:
    for device in _DEVICES:
        for dtype in _DTYPES:
            how = device if dtype is None else f"{device}-{dtype}"
            result = last_result(cache, filename, f"{name}[{how}]")
            if result is not None:
                yield how, result


def _words(how: str, result: LastResult, path: Path, now: float) -> str:
    verdict = ", ".join(result.codes) or (f"not checked: {result.cause}" if result.cause else "ok")
    try:
        is_old = path.stat().st_mtime > result.when
    except OSError:
        is_old = False
    changed = "; the file has changed since" if is_old else ""
    return f"checked by gradcheck ({how}): {verdict}, {_ago(now - result.when)}{changed}"


def _ago(seconds: float) -> str:
    for size, name in _UNITS:
        count = int(seconds // size)
        if count:
            return f"{count} {name}{'s' * (count > 1)} ago"
    return "just now"


def _classes(text: str) -> dict[str, int]:
    """The rows of the class statements of a text, by qualified name; none where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(_within(tree, ""))


def _within(node: ast.AST, before: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = f"{before}{child.name}"
            yield name, child.lineno
            yield from _within(child, f"{name}.")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _within(child, f"{before}{child.name}.<locals>.")
        else:
            yield from _within(child, before)
