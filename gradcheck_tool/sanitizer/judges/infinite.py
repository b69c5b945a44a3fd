"""A step applies gradients that are NaN or Inf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.starved import names_of
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

INFINITE = "GL521"


def judge(records: Records) -> Iterator[Told]:
    """Tell which operation they begin with, and the first step that applies them: after it all is lost."""
    for one in records.infinite.applied.values():
        origin = one.origin
        how = "the derivative of" if origin.backward else "the result of"
        what = f"`{origin.node}`" if origin.node else "an operation"
        place = origin.site or origin.begun
        steps = (
            step(origin.site, f"{how} {what} is NaN or Inf here, of finite numbers", "made"),
            step(origin.begun, "this backward spreads it", "backward"),
            step(one.site, "this step applies it", "applied"),
        )
        subject = "the loss" if origin.site is None else f"{how} {quoted(origin.site, what)}"
        yield Told(
            INFINITE,
            place.location,
            f"{subject} is NaN or Inf: step {one.number} of {one.record.kind} makes "
            f"{names_of(records, one.parameters)} NaN, and all that is computed of them",
            placed(*steps),
            evidence={"first_step": one.number, "parameters": len(one.parameters)},
        )
