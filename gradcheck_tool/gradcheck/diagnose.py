"""What kind of mistake it is: rules over analytic and reference gradients, the most specific first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.diagnoses.absent import absent
from gradcheck_tool.gradcheck.diagnoses.accumulation import not_accumulated
from gradcheck_tool.gradcheck.diagnoses.conjugate import conjugate
from gradcheck_tool.gradcheck.diagnoses.cotangent import wrong_cotangent
from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, Rule
from gradcheck_tool.gradcheck.diagnoses.factor import multiple
from gradcheck_tool.gradcheck.diagnoses.missing_term import missing_term
from gradcheck_tool.gradcheck.diagnoses.moved import moved
from gradcheck_tool.gradcheck.diagnoses.nan import nan
from gradcheck_tool.gradcheck.diagnoses.output_ignored import output_ignored
from gradcheck_tool.gradcheck.diagnoses.reduced import reduced
from gradcheck_tool.gradcheck.diagnoses.region import one_region, scattered
from gradcheck_tool.gradcheck.diagnoses.rounded import rounded
from gradcheck_tool.gradcheck.diagnoses.spurious import spurious
from gradcheck_tool.gradcheck.diagnoses.swapped import swapped
from gradcheck_tool.gradcheck.saved import better_saved_tensor

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def diagnose(evidence: Evidence, klass: Any) -> Diagnosis:
    """The first rule that explains the evidence; `unknown` if none does."""
    rules: tuple[Rule, ...] = (
        nan, absent, wrong_cotangent, spurious, output_ignored, multiple, rounded, conjugate, swapped,
        moved, reduced, not_accumulated, one_region,
    )  # fmt: skip
    for rule in rules:
        answer = rule(evidence)
        if answer is not None:
            return answer
    saved = better_saved_tensor(evidence, klass)
    if saved is not None:
        return Diagnosis("wrong-saved-tensor", saved)
    return scattered(evidence) or missing_term(evidence)
