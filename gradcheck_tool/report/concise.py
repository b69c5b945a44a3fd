"""One line a finding: `path:row:column: CODE [severity] message`, as editors' problem matchers read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.report.style import linked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.report.context import ReportContext


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report."""
    return "".join(
        f"{place(finding.location, context)}: {code(finding, context)} [{finding.severity.value}] "
        f"{finding.message}{_checked(finding)}{_in_run(finding)}\n"
        for finding in findings
    )


def _checked(finding: Finding) -> str:
    """` (ops.Cube[cpu-float32])` where a Function was run: several may inherit the `backward` of a place."""
    if not finding.function:
        return ""
    how = "-".join(filter(None, (finding.device, finding.dtype)))
    return f" ({finding.function}[{how}])" if how else f" ({finding.function})"


def _in_run(finding: Finding) -> str:
    return "" if finding.in_run is None else f" [{finding.in_run}]"


def code(finding: Finding, context: ReportContext) -> str:
    """The code, as a link to its documentation where a terminal opens links."""
    return linked(finding.code, finding.url) if context.links and "://" in finding.url else finding.code


def place(location: Location, context: ReportContext) -> str:
    """`path:row:column`, with `cell N` after the path of a notebook."""
    cell = "" if location.cell is None else f"cell {location.cell}:"
    return f"{context.relative(location.filename)}:{cell}{location.start.row}:{location.start.column}"
