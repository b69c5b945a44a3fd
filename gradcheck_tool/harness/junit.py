"""A run as JUnit XML: a case for each Function, device and dtype; skipped ones say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.junit import Case, Failure, document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.outcomes import Outcome
    from gradcheck_tool.report.context import ReportContext


def junit(outcomes: Sequence[Outcome], context: ReportContext) -> str:
    """The text of the file, with the outcomes in their order."""
    return document([_case(outcome) for outcome in outcomes], context)


def _case(outcome: Outcome) -> Case:
    failure = skipped = None
    if outcome.status == "wrong":
        first = next(found for found in outcome.findings if found.severity is Severity.ERROR)
        failure = Failure(first.message, first.code, outcome.text())
    elif outcome.status == "crashed":
        failure = Failure(outcome.cause or "", "GC304", outcome.text())
    elif outcome.status == "not checked":
        skipped = outcome.cause
    return Case(outcome.unit.ref.filename, outcome.unit.name, failure, skipped, outcome.seconds)
