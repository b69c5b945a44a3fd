"""Elements whose gradient the program sets to zero, and which weight decay moves all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.starved import names_of
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

DECAYED = "GL415"


def judge(records: Records) -> Iterator[Told]:
    """Tell where the gradient is set to zero, and which step moves what it is to keep."""
    for token, mask in records.masks.known.items():
        if mask.moved < OFTEN_ENOUGH or mask.varies or not mask.decay or mask.record is None:
            continue
        name = names_of(records, {token: mask.record.parameters[token].shape})
        steps = (
            step(mask.record.site, f"{mask.record.kind} gets a weight decay of {mask.decay:g} here"),
            step(mask.site, "part of the gradient is set to zero here", "changed"),
            step(mask.step, "this step moves those elements all the same", "applied"),
        )
        yield Told(
            DECAYED,
            mask.site.location,
            f"{quoted(mask.site, 'this')} sets part of the gradient of {name} to zero, but the weight decay "
            f"of {mask.record.kind} moves those elements",
            placed(*steps),
            evidence={"steps": f"{mask.moved} of {mask.steps}"},
        )
