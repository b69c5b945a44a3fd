"""Reports: one module per output format, each with a `render(findings, context) -> str`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

FORMATS = (
    "full",
    "concise",
    "grouped",
    "json",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "azure",
    "rdjson",
    "html",
)
# Formats that programs read: what is not printable stays in the data, as an escape of JSON's.
_DATA = ("json", "sarif", "gitlab", "rdjson")


def render(name: str, findings: Sequence[Finding], context: ReportContext) -> str:
    """The report in one of `FORMATS`, ending with a line end unless it is empty.

    Texts of the checked tree, in messages and names of files, control neither a terminal nor a CI service.
    """
    from gradcheck_tool.report.shown import shown
    from gradcheck_tool.trust.visible import escaped_json

    module = import_module(f"gradcheck_tool.report.{name}")
    text: str = module.render(findings if name in _DATA else [*map(shown, findings)], context)
    return escaped_json(text) if name in _DATA else text
