"""Gradients that carry the scale of a GradScaler are clipped or applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.scaling import Use
    from gradcheck_tool.sanitizer.sites import Site

CLIPPED, APPLIED = "GL411", "GL412"


def judge(records: Records) -> Iterator[Told]:
    """Tell which pass left them, and what clips or applies them."""
    for site, use in records.scaling.clips.items():
        clip = records.clipping.known.get(site)
        if use.times >= OFTEN_ENOUGH and clip is not None and use.times == clip.times:
            yield _told(CLIPPED, site, use, "clips", "to a limit that is smaller by the factor of the scale")
    for site, use in records.scaling.steps_made.items():
        if use.times >= OFTEN_ENOUGH:
            yield _told(APPLIED, site, use, "applies", "and the step is too large by the factor of the scale")


def _told(code: str, site: Site, use: Use, does: str, so: str) -> Told:
    steps = (
        step(use.begun, "this backward of a scaled loss leaves gradients with the scale", "backward"),
        step(site, f"this {does} them, and nothing has unscaled them since", "applied"),
    )
    return Told(
        code,
        site.location,
        f"{quoted(site, 'this call')} {does} gradients that still carry the GradScaler's scale, {so}",
        placed(*steps),
        evidence={"times": use.times},
    )
