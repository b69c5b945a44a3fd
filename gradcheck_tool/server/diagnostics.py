"""Findings as diagnostics, with each step of the story as a related place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from gradcheck_tool.findings import Severity
from gradcheck_tool.report.facts import outcome
from gradcheck_tool.report.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.server.documents import Places

SOURCE = "gradlint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
# Rules about names that PyTorch has replaced.
_DEPRECATED = "GL9"


def diagnostic(finding: Finding, places: Places) -> types.Diagnostic:
    """One finding."""
    told = shown(finding)
    message = "\n".join([told.message, *(f"{label}: {said}" for label, said in outcome(told))])
    if told.assumes:
        message += f"\nassumes: {'; '.join(told.assumes)}"
    return types.Diagnostic(
        range=places.range(finding.location),
        message=message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(finding.url) if "://" in finding.url else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Deprecated] if finding.code.startswith(_DEPRECATED) else None,
        related_information=[*_related(told, places)] or None,
    )


def _related(finding: Finding, places: Places) -> Iterable[types.DiagnosticRelatedInformation]:
    for number, step in enumerate(finding.trace, start=1):
        uri = places.uri(step.location)
        if uri is not None:
            at = types.Location(uri, places.range(step.location))
            told = f"{number}: {step.message}" if len(finding.trace) > 1 else step.message
            yield types.DiagnosticRelatedInformation(at, told)


def by_document(findings: Iterable[Finding], places: Places) -> dict[str, list[Finding]]:
    """Findings by the address of the document that they stand in, each once."""
    found: dict[str, list[Finding]] = {}
    seen = set()
    for finding in findings:
        uri = places.uri(finding.location)
        if uri is not None and (finding.code, finding.location) not in seen:
            seen.add((finding.code, finding.location))
            found.setdefault(uri, []).append(finding)
    return found
