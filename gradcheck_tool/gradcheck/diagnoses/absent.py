"""`zero` and `none`: there is no gradient where there should be one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, input_name, norm

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def absent(e: Evidence) -> Diagnosis | None:
    """No gradient, or zeros, where the output depends on the input."""
    size = norm(e.analytic, e.known)
    if size > float((e.tolerance * e.known).square().sum().sqrt()) or size > 0.05 * norm(
        e.reference, e.known
    ):
        return None
    if e.none_returned:
        return Diagnosis("none", f"backward returns None for input {e.index}, on which the output depends")
    return Diagnosis("zero", f"{input_name(e)} is zero although the output depends on it")
