"""Names for findings that stay the same when lines move."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext


def fingerprints(findings: Iterable[Finding], context: ReportContext) -> list[str]:
    """One for each finding: of its file, rule, line text, and how many alike came before it."""
    seen: Counter[tuple[str, str, str]] = Counter()
    names = []
    for finding in findings:
        location = finding.location
        lines = context.lines(location.filename, location.cell)
        row = location.start.row
        text = lines[row - 1].strip() if row <= len(lines) else ""
        key = (context.uri(location.filename), finding.code, text)
        seen[key] += 1
        told_apart = "\0".join((*key, str(seen[key]))).encode(errors="surrogateescape")
        names.append(hashlib.sha256(told_apart).hexdigest()[:32])
    return names
