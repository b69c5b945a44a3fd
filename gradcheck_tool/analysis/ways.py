"""Which of the exceptions that PyTorch raises on some ways through the code are mistakes of the program.

Where a test depends on what only the run knows (data, options), both of its outcomes are executed. A loss
that is a constant, a stand-in or not reduced on one of them, while the same pass runs on the other, is no
mistake: whether that way is ever taken, the code does not say.

Where there was too little work for all ways, one that was left out may be that other one.

Known unsoundness: that a helper gets a right loss on one such way and a wrong one on the other is missed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import NoGraph, NonScalarRoot, UnusedInput
from gradcheck_tool.domain.values import Ref, Value
from gradcheck_tool.interp.facts import BackwardRan, PathEnded

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter

Outcomes = dict[Value, bool]


class Ways:
    """Listens on which ways passes run, and on which they raise."""

    def __init__(self, m: Interpreter) -> None:
        self._m = m
        self._ran: dict[int, list[Outcomes]] = defaultdict(list)
        self._raised: dict[tuple[type, int], list[Outcomes]] = defaultdict(list)
        m.listeners.setdefault(BackwardRan, []).append(lambda _, s, fact: self._on_backward_ran(s, fact))
        m.listeners.setdefault(PathEnded, []).append(self._on_path_ended)

    def _on_backward_ran(self, s: State, fact: BackwardRan) -> None:
        self._ran[id(fact.run.site.node)].append(dict(s.path_condition))

    def _on_path_ended(self, m: Interpreter, s: State, fact: PathEnded) -> None:
        event = m.raised.get(fact.value.id) if isinstance(fact.value, Ref) else None
        if event is not None and not fact.returns:
            self._raised[_key(event)].append(dict(s.path_condition))

    def is_certain(self, event: Event) -> bool:
        """Does what raises not depend on a test whose other outcome lets the same pass run?"""
        if not _may_be_meant(event):
            return True
        ran = self._ran[id(event.site.node)]
        raised = self._raised[_key(event)]
        if not ran and self._m.budget.narrowed and all(raised):
            # Other ways were left out for lack of work: what they show of the pass is not known.
            return False
        return not raised or not all(any(_differ(way, other) for other in ran) for way in raised)


def _key(event: Event) -> tuple[type, int]:
    return type(event), id(event.site.node)


def _may_be_meant(event: Event) -> bool:
    if isinstance(event, NoGraph):
        return event.reason in ("constant", "unknown", "non-differentiable")
    return isinstance(event, NonScalarRoot) or (isinstance(event, UnusedInput) and event.reason == "stand-in")


def _differ(way: Outcomes, other: Outcomes) -> bool:
    """Does a test go one way here and the other way there?"""
    return any(other.get(test, outcome) is not outcome for test, outcome in way.items())
