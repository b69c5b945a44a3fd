"""What the records of a whole run amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import (
    clipped,
    constant,
    discarded,
    evaluated,
    flags,
    functions,
    hooks,
    idle,
    infinite,
    kept,
    masked,
    reduced,
    scaled,
    starved,
    untrained,
    updates,
    warned,
    windows,
)

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.told import Told

_JUDGES = (
    windows.judge,
    discarded.judge,
    evaluated.judge,
    idle.judge,
    starved.judge,
    untrained.judge,
    constant.judge,
    updates.judge,
    infinite.judge,
    kept.judge,
    masked.judge,
    clipped.judge,
    scaled.judge,
    reduced.judge,
    flags.judge,
    functions.judge,
    hooks.judge,
    warned.judge,
)


def conclude(records: Records) -> None:
    """Tell what only the whole run shows."""
    for judge in _JUDGES:
        records.told.add_all(judge(records))


def as_if_ended(records: Records) -> list[Told]:
    """All that would be told if the run ended here."""
    known = records.told.all()
    keys = {told.key for told in known}
    found = (told for judge in _JUDGES for told in judge(records))
    return [*known, *(told for told in found if told.key not in keys)]
