"""Findings as people may be shown them: what is not printable in their texts is escaped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.trust.visible import visible, visible_data, visible_lines

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding


def shown(finding: Finding) -> Finding:
    """The finding with visible texts. Names of files stay: they are escaped where they are printed."""
    return replace(
        finding,
        message=visible(finding.message),
        predicts=None if finding.predicts is None else visible_lines(finding.predicts),
        assumes=tuple(map(visible, finding.assumes)),
        trace=tuple(replace(step, message=visible(step.message)) for step in finding.trace),
        fix=finding.fix and replace(finding.fix, message=visible(finding.fix.message)),
        function=None if finding.function is None else visible(finding.function),
        evidence=None if finding.evidence is None else visible_data(finding.evidence),
    )
