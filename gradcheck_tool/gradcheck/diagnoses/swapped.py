"""`swapped`: the gradients of two inputs are exchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, input_name, norm

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def swapped(e: Evidence) -> Diagnosis | None:
    """The gradient is that of another input."""
    if e.all_reference is None:
        return None
    for j, other in enumerate(e.all_reference):
        if j == e.index or other.shape != e.analytic.shape or other.is_complex() != e.analytic.is_complex():
            continue
        if e.same(e.analytic, other, 10) and norm(other, e.known) > 0:
            text = f"{input_name(e)} is the gradient of input {j}: gradients exchanged or in the wrong slot"
            return Diagnosis("swapped", text, {"other_input": j})
    return None
