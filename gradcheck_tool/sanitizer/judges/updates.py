"""A differentiable update starts from a value without its graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

CUT = "GL818"


def judge(records: Records) -> Iterator[Told]:
    """Tell where the gradients come from, and where the direct way through the values is cut."""
    for site, update in records.updates.known.items():
        if update.times < OFTEN_ENOUGH or site not in records.graphs.places:
            continue
        steps = (
            step(update.gradients, "these gradients have a graph of their own (create_graph)", "backward"),
            step(site, "the update starts from the values without their graph", "applied"),
        )
        yield Told(
            CUT,
            site.location,
            f"{quoted(site, 'this update')} is differentiated through the gradient, but not through the "
            "values that it starts from: their graph is cut off",
            placed(*steps),
            evidence={"times": update.times},
        )
