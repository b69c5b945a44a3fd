"""Gradients that are applied again, because nothing clears them after the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.source import calls_of
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site

NEVER_CLEARED = "GL401"


def judge(records: Records) -> Iterator[Told]:
    """Tell which step applied them, which pass added to them, and which step applies them again."""
    for again in records.steps.twice.values():
        if again.times < OFTEN_ENOUGH:
            continue
        steps = (
            step(again.before, "the gradients are applied here", "applied"),
            step(again.added, "this backward adds to them, because nothing has cleared them", "backward"),
            step(again.again, "the old gradients are applied again together with the new", "applied"),
        )
        yield Told(
            NEVER_CLEARED,
            again.added.location,
            f"{quoted(again.added, 'this backward')} adds to gradients of {again.of.kind} that an earlier "
            "step has already applied: nothing clears them in between",
            (*placed(*steps), *_never_run(records, again.added)),
            evidence={"steps": f"{again.times} of {again.of.steps}"},
        )


def _never_run(records: Records, added: Site) -> Iterator[TraceStep]:
    """Calls of `zero_grad` in these files that the run has not reached."""
    reached = {(site.location.filename, site.location.start.row) for site in records.clearing.places}
    for filename in dict.fromkeys(code.co_filename for code, _ in added.frames):
        for place in calls_of(filename, "zero_grad"):
            if (place.filename, place.start.row) not in reached:
                yield TraceStep(place, "this would clear them, but never runs")
