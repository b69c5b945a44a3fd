"""The trackers that are there for several rules. One that serves a single rule is in that rule's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.trackers.accumulation import Windows
from gradcheck_tool.trackers.distributed import Distributed
from gradcheck_tool.trackers.modes import Modes
from gradcheck_tool.trackers.schedulers import Schedulers

if TYPE_CHECKING:
    from gradcheck_tool.trackers.tracker import Tracker

BUILT_IN: tuple[type[Tracker], ...] = (Distributed, Modes, Schedulers, Windows)
