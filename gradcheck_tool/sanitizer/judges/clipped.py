"""Clipping that finds no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

WITHOUT_EFFECT, USED_UP = "GL403", "GL317"


def judge(records: Records) -> Iterator[Told]:
    """Tell which call clips nothing, every time."""
    if records.steps.total < OFTEN_ENOUGH:
        return
    for site, clip in records.clipping.known.items():
        if clip.times < OFTEN_ENOUGH or clip.without_gradients < clip.times:
            continue
        used_up = clip.without_parameters == clip.times
        what = "is given no parameters: an iterator is used up" if used_up else "finds no gradients"
        one = step(site, f"this call {what}")
        yield Told(
            USED_UP if used_up else WITHOUT_EFFECT,
            site.location,
            f"{quoted(site, 'this call')} {what}, every time that it runs: nothing is clipped",
            placed(one),
            evidence={"times": clip.times},
        )
