"""A checkpoint that computes other values when a backward calls its part again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.overwritten import UNVERSIONED, sized
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.recomputing import Otherwise
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.repeating import Wrong


def judge(other: Otherwise, records: Records) -> None:
    """Tell where the part gives something else, if gradients are other ones for that."""
    told = _told(other)
    if told is None:
        return

    def measured(wrong: list[Wrong] | str) -> None:
        if not isinstance(wrong, str):
            records.told.add(sized(told, wrong, records))

    records.repeating.meets(other.tensor, other.was, told.key, measured)


def _told(other: Otherwise) -> Told | None:
    part, site = other.part, other.part.differs
    if site is None:
        return None
    during = other.during.site
    return Told(
        UNVERSIONED,
        site.location,
        f"{quoted(site, 'this')} computes with other values when {quoted(during, 'the backward')} calls it "
        f"again than in {quoted(part.site, 'the checkpoint')}, and PyTorch does not notice",
        placed(
            step(part.site, "this is computed here first, and forgotten", "made"),
            step(site, "computed again, this saves other values than the first time", "changed"),
            step(during, f"`{other.node}` computes with them here", "backward"),
        ),
    )
