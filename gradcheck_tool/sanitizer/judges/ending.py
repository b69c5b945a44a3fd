"""What the records of a whole run amount to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import windows

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.records import Records

_JUDGES = (windows.judge,)


def conclude(records: Records) -> None:
    """Tell what only the whole run shows."""
    for judge in _JUDGES:
        records.told.add_all(judge(records))
