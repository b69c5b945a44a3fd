"""The findings of each file below its name, as people read a long list."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool.report.concise import code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Position
    from gradcheck_tool.report.context import ReportContext


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report, with an empty line after each file."""
    files = groupby(findings, lambda finding: (finding.location.filename, finding.location.cell))
    return "".join(_file(filename, cell, list(group), context) for (filename, cell), group in files)


def _file(filename: str, cell: int | None, findings: Sequence[Finding], context: ReportContext) -> str:
    places = [_place(finding.location.start) for finding in findings]
    width = max(map(len, places))
    codes = max(len(finding.code) for finding in findings)
    severities = max(len(finding.severity.value) for finding in findings)
    head = context.relative(filename) + ("" if cell is None else f" (cell {cell})")
    rows = [
        f"  {place:>{width}}  {one.severity.value:{severities}}  "
        f"{code(one, context)}{' ' * (codes - len(one.code))}  {one.message}\n"
        for place, one in zip(places, findings, strict=True)
    ]
    return f"{head}:\n{''.join(rows)}\n"


def _place(position: Position) -> str:
    return f"{position.row}:{position.column}"
