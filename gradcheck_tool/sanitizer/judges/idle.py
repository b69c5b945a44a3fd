"""Steps that find nothing in any gradient, although backward passes reach the parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.steps import OptimizerRecord

IDLE = "GL404"


def judge(records: Records) -> Iterator[Told]:
    """Tell which backward comes too late, or what clears its gradients."""
    for one in records.steps.known:
        if one.step_site is None or not is_idle(records, one):
            continue
        steps = (
            step(one.pass_site, "this backward computes gradients", "backward"),
            step(one.cleared, "they are cleared here", "cleared"),
            step(one.step_site, "this step finds nothing in them, each time", "applied"),
        )
        yield Told(
            IDLE,
            one.step_site.location,
            f"{quoted(one.step_site, 'this step')} never finds anything in the gradients of {one.kind}: no "
            "backward runs between it and what clears them",
            placed(*steps),
            evidence={"steps": f"{one.idle} of {one.steps}"},
        )


def is_idle(records: Records, optimizer: OptimizerRecord) -> bool:
    """Do passes reach the parameters of an optimizer none of whose steps finds what they compute?"""
    leaves = (records.graphs.leaves.get(token) for token in optimizer.parameters)
    reached = any(leaf is not None and leaf.passes >= OFTEN_ENOUGH for leaf in leaves)
    return reached and optimizer.steps >= OFTEN_ENOUGH and optimizer.idle == optimizer.steps
