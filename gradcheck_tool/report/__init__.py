"""Reports: one module per output format, each with a `render(findings, context) -> str`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")


def render(name: str, findings: Sequence[Finding], context: ReportContext) -> str:
    """The report in one of `FORMATS`, ending with a line end unless it is empty."""
    module = import_module(f"gradcheck_tool.report.{name}")
    text: str = module.render(findings, context)
    return text
