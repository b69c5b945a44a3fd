"""The page of a job on GitHub: a command that prints for GitHub adds what it found to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cli.console import tell_unwritten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

_FILE = "GITHUB_STEP_SUMMARY"


def add_job_summary(
    formats: Iterable[str], title: str, closing: str, findings: Sequence[Finding], context: ReportContext
) -> bool:
    """Add a summary to the job's page, where there is one and a report is for GitHub.

    Args:
        formats: those of the command's reports.
        title: the command.
        closing: its closing line.
        findings: what it found.
        context: surroundings of its reports.

    Returns:
        Whether it was written, or nobody wants it.
    """
    file = os.environ.get(_FILE)
    if not file or "github" not in formats:
        return True
    from gradcheck_tool.report.job_summary import job_summary

    try:
        with Path(file).open("a", encoding="utf-8", errors="backslashreplace") as page:
            page.write(job_summary(title, closing, findings, context))
    except OSError as error:
        tell_unwritten(file, error)
        return False
    return True
