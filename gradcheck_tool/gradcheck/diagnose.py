"""What kind of mistake it is: functions over analytic and reference gradients, the most specific first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, in_order

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def diagnose(evidence: Evidence) -> Diagnosis:
    """The first diagnosis that explains the evidence; the last one always does."""
    explanations = in_order(few=evidence.few)
    return next(answer for explain in explanations if (answer := explain(evidence)) is not None)
