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
