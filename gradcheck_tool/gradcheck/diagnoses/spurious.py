"""`spurious`: a gradient where the output does not depend on the input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, input_name

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def spurious(e: Evidence) -> Diagnosis | None:
    """A gradient where the output does not depend on the input."""
    if bool(((e.reference.abs() <= e.tolerance) | ~e.known).all()):
        return Diagnosis("spurious", f"{input_name(e)} is not zero although the output does not depend on it")
    return None
