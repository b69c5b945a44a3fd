"""Markdown for the page of a job on GitHub: what was checked, and each finding with a link to its line."""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import counted
from gradcheck_tool.report.shown import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.report.context import ReportContext

# A page takes a megabyte, and nobody reads so many rows.
MOST = 100
_ORDER = tuple(Severity)
# What begins or ends something in Markdown outside of code.
_MARKUP = re.compile(r"([\\*_\[\]~#!|])")


def job_summary(title: str, closing: str, findings: Sequence[Finding], context: ReportContext) -> str:
    """The page: a heading, the closing line of the command, and a table of the findings that matter most."""
    lines = [f"## {title}", "", _text(closing)]
    if findings:
        lines += ["", _counts(findings), "", "| severity | place | finding |", "|---|---|---|"]
        by_weight = sorted(findings, key=lambda finding: _ORDER.index(finding.severity))
        lines += [_row(shown(finding), context) for finding in by_weight[:MOST]]
        if len(findings) > MOST:
            lines += ["", f"{len(findings) - MOST} more findings are not listed here."]
    return "\n".join(lines) + "\n\n"


def _counts(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(counted(counts[severity], severity.value) for severity in _ORDER if counts[severity])


def _row(finding: Finding, context: ReportContext) -> str:
    code = f"[{finding.code}]({finding.url})" if "://" in finding.url else finding.code
    where = _code(place(finding.location, context))
    address = _address(finding.location, context)
    where = f"[{where}]({address})" if address else where
    return f"| {finding.severity.value} | {where} | {code} {_text(finding.message)} |"


def _address(location: Location, context: ReportContext) -> str | None:
    """The line in the commit that the job runs on."""
    server, repository, commit = (
        os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "SHA")
    )
    name = context.uri(location.filename)
    if not (server and repository and commit) or name.startswith("/"):
        return None
    line = "" if location.cell is not None else f"#L{location.start.row}"
    return f"{server}/{repository}/blob/{commit}/{quote(name, errors='surrogateescape')}{line}"


def _text(message: str) -> str:
    """A message whose code stays code, and whose other characters mean themselves."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        return _MARKUP.sub(r"\\\1", html.escape(message, quote=False)).replace("`", "\\`")
    return "".join(
        _code(part) if index % 2 else _MARKUP.sub(r"\\\1", html.escape(part, quote=False))
        for index, part in enumerate(parts)
    )


def _code(text: str) -> str:
    """Text as code in a cell of a table, where only the bar between cells has to be escaped."""
    return f"`{text}`".replace("|", "\\|") if text else "``"
