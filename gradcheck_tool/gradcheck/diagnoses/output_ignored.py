"""`output-ignored`: the gradient of one output is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.gradcheck.diagnoses.diagnosis import Diagnosis, input_name, norm
from gradcheck_tool.gradcheck.probes import one_output

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence


def output_ignored(e: Evidence) -> Diagnosis | None:
    """The gradient lacks what one of the outputs contributes."""
    v = e.cotangents[0]
    if len(v) < 2 or e.pull_reference is None:
        return None
    ignored, right = [], 0
    for k in range(len(v)):
        alone = one_output(v, k)
        a = e.pull_analytic(alone)[e.index].reshape(-1)
        r = e.pull_reference(alone)[e.index].reshape(-1)
        floor = 10 * float(e.tolerance[0].max())
        if norm(a, e.known) <= floor < norm(r, e.known):
            ignored.append(k)
        elif norm(a - r, e.known) <= floor:
            right += 1
    if not ignored or right + len(ignored) < len(v):
        return None
    which = ", ".join(map(str, ignored))
    return Diagnosis(
        "output-ignored",
        f"{input_name(e)} ignores the incoming gradient of output {which}",
        {"outputs": ignored},
    )
