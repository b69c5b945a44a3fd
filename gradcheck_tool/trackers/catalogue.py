"""The trackers that are there for several rules. One that serves a single rule is in that rule's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.trackers.constant_terms import ConstantTerms
from gradcheck_tool.trackers.distributed import Distributed
from gradcheck_tool.trackers.functions import Functions
from gradcheck_tool.trackers.grad_mode import GradMode
from gradcheck_tool.trackers.hooks import Hooks
from gradcheck_tool.trackers.listed_modules import ListedModules
from gradcheck_tool.trackers.retained_graphs import RetainedGraphs
from gradcheck_tool.trackers.spent_graphs import SpentGraphs
from gradcheck_tool.trackers.spent_writes import SpentWrites
from gradcheck_tool.trackers.training_calls import TrainingCalls
from gradcheck_tool.trackers.unregistered import Unregistered
from gradcheck_tool.trackers.uses import Uses

if TYPE_CHECKING:
    from gradcheck_tool.trackers.tracker import Tracker

BUILT_IN: tuple[type[Tracker], ...] = (
    SpentGraphs,
    ConstantTerms,
    Distributed,
    Functions,
    GradMode,
    Hooks,
    ListedModules,
    RetainedGraphs,
    SpentWrites,
    TrainingCalls,
    Unregistered,
    Uses,
)
