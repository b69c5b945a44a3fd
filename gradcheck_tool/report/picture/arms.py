"""Which branches a step shows to be taken, and what the places of steps stand in: read off the text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Location, Position, TraceStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.report.context import Lines

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
# Statements whose first line says under which circumstances what is in them runs.
_HEADED = (*_SCOPES, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith)


@dataclass(frozen=True, slots=True)
class _Arm:
    """One outcome of a test, which has to be for what stands in its arm to run."""

    test: ast.expr
    holds: bool


class Texts:
    """The programs that a picture shows, parsed when they are first asked about."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._trees: dict[tuple[str, int | None], ast.AST | None] = {}

    def headings(self, location: Location) -> list[int]:
        """The rows of the statements around a place that say when it runs, the outermost first."""
        return [node.lineno for node in self._around(location) if isinstance(node, _HEADED)]

    def with_branches(self, steps: Sequence[TraceStep]) -> list[TraceStep]:
        """The steps, and before each the outcomes of the tests that it depends on in its function."""
        told: list[TraceStep] = []
        for step in steps:
            told += [branch for branch in self._branches(step.location) if branch not in told]
            told.append(step)
        return told

    def _branches(self, location: Location) -> Iterator[TraceStep]:
        for arm in self._arms(location):
            place = self._place(arm.test, location)
            text = self._text(place)
            told = f"`{text}` holds" if arm.holds else f"`{text}` does not hold"
            yield TraceStep(place, told, "branch")

    def _arms(self, location: Location) -> list[_Arm]:
        """The outcomes of tests that a place depends on, in its own function."""
        arms: list[_Arm] = []
        path = self._around(location)
        for node, inner in pairwise(path):
            if isinstance(node, _SCOPES):
                arms.clear()
            elif isinstance(node, (ast.If, ast.IfExp)) and inner is not node.test:
                body = node.body if isinstance(node.body, list) else [node.body]
                arms.append(_Arm(node.test, any(inner is one for one in body)))
        return arms

    def _around(self, location: Location) -> list[ast.AST]:
        """The nodes around the beginning of a place, the outermost first."""
        key = (location.filename, location.cell)
        if key not in self._trees:
            self._trees[key] = _parsed(self._lines(*key))
        lines = self._lines(*key)
        row = location.start.row
        if self._trees[key] is None or row > len(lines):
            return []
        before = lines[row - 1][: location.start.column - 1]
        at = (row, len(before.encode(errors="surrogatepass")))
        path: list[ast.AST] = []
        node: ast.AST | None = self._trees[key]
        while node is not None:
            path.append(node)
            node = next((child for child in _parts(node) if _covers(child, at)), None)
        return path[1:]

    def _place(self, node: ast.expr, near: Location) -> Location:
        lines = self._lines(near.filename, near.cell)
        start = Position(node.lineno, _column(lines[node.lineno - 1], node.col_offset))
        row = node.end_lineno or node.lineno
        end = Position(row, _column(lines[row - 1], node.end_col_offset or 0))
        return Location(near.filename, start, end, near.cell)

    def _text(self, place: Location) -> str:
        line = self._lines(place.filename, place.cell)[place.start.row - 1]
        end = place.end.column - 1 if place.end.row == place.start.row else len(line)
        return line[place.start.column - 1 : end].strip()


def _parsed(lines: Sequence[str]) -> ast.AST | None:
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that have a place; those of what has none, in its place."""
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _parts(child)


def _covers(node: ast.AST, at: tuple[int, int]) -> bool:
    start = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    end = (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return bool(start <= at < end)


def _column(line: str, offset: int) -> int:
    """The 1-based column of an offset that Python counts in bytes."""
    return len(line.encode(errors="surrogatepass")[:offset].decode(errors="replace")) + 1
