"""`nan`: the gradient is not a number where the function is smooth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, input_name
from gradcheck_tool.gradcheck.regions import describe_region

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def nan(e: Evidence) -> Diagnosis | None:
    """Not a number, or infinite, where the function is smooth."""
    bad = (~torch.isfinite(e.analytic.abs()) & torch.isfinite(e.reference.abs()) & e.known).any(0)
    if not bool(bad.any()):
        return None
    where = describe_region(e, bad)
    return Diagnosis(
        "nan", f"{input_name(e)} is not finite {where or ''} although the derivative is".replace("  ", " ")
    )
