"""Gradients that are cleared before a step applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

CLEARED = "GL402"


def judge(records: Records) -> Iterator[Told]:
    """Tell which pass computed them and which call cleared them.

    Passes whose gradients are never applied compute them for something else.
    """
    for site, one in records.clearing.passes.items():
        if one.times < OFTEN_ENOUGH or one.times < one.applied or not one.applied or one.clear is None:
            continue
        steps = (
            step(site, "this backward computes gradients", "backward"),
            step(one.clear, "they are cleared here, before a step has applied them", "cleared"),
            step(one.step, "this step applies those of the last backward alone", "applied"),
        )
        yield Told(
            CLEARED,
            one.clear.location,
            f"{quoted(one.clear, 'this call')} clears gradients of {quoted(site, 'a backward')} that no step "
            "has applied",
            placed(*steps),
            evidence={"passes": f"{one.times} of {one.times + one.applied}"},
        )
