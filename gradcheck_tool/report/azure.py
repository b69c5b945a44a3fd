"""Logging commands that Azure Pipelines turns into issues of a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.context import in_cell
from gradcheck_tool.trust.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

# There is no third kind.
KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "warning"}
# As the agent reads them back; the percent sign comes first.
_ESCAPED = (("%", "%AZP25"), ("\r", "%0D"), ("\n", "%0A"))
_ESCAPED_IN_PROPERTIES = (*_ESCAPED, (";", "%3B"), ("]", "%5D"))


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report. Rows of a notebook cell mean nothing in its file, so notebooks get none."""
    return "".join(f"{_command(finding, context)}\n" for finding in findings)


def _command(finding: Finding, context: ReportContext) -> str:
    location = finding.location
    properties = {"type": KINDS[finding.severity], "sourcepath": visible(context.uri(location.filename))}
    if location.cell is None:
        properties |= {"linenumber": str(location.start.row), "columnnumber": str(location.start.column)}
    properties["code"] = finding.code
    listed = "".join(f"{key}={_escaped(value, _ESCAPED_IN_PROPERTIES)};" for key, value in properties.items())
    message = _escaped(f"{in_cell(location)}{finding.message}", _ESCAPED)
    return f"##vso[task.logissue {listed}]{message}"


def _escaped(text: str, escaped: Sequence[tuple[str, str]]) -> str:
    for character, replacement in escaped:
        text = text.replace(character, replacement)
    return text
