"""Modules that are trained in evaluation mode, after training mode was left and never entered again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

EVALUATED = "GL516"


def judge(records: Records) -> Iterator[Told]:
    """Tell where training mode was left, and which steps went on."""
    for one in records.modes.switched.values():
        if not one.before or one.steps < OFTEN_ENOUGH:
            continue
        steps = (
            step(one.site, f"{one.kind} is put into evaluation mode here"),
            step(one.step_site, "its parameters are trained here, in that mode", "applied"),
        )
        yield Told(
            EVALUATED,
            one.site.location,
            f"{quoted(one.site, 'this')} puts {one.kind} into evaluation mode, and nothing puts it back: "
            "dropout and batch norm are off in all further steps",
            placed(*steps),
            evidence={"steps": f"{one.steps} of {one.steps + one.before}"},
        )
