"""The methods by which rules judge events, named after the classes: `on_freed_graph` for `FreedGraph`."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING

from gradcheck_tool.domain import events as domain_events
from gradcheck_tool.domain.events import Event
from gradcheck_tool.spelling import snake_case
from gradcheck_tool.trackers import events as tracker_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.rulebook.rule import Rule

# The one handler that is not named after an event: it gets all events of a file at once.
ON_FILE = "on_file"


def handler_name(event: type[Event]) -> str:
    """The method that judges an event class: `FreedGraph` -> `on_freed_graph`."""
    return "on_" + snake_case(event.__name__)


@cache
def public_events() -> tuple[type[Event], ...]:
    """The event classes of the package, bases included: a rule may judge all engine errors at once."""
    found = (*_events_in(vars(domain_events).values()), *_events_in(vars(tracker_events).values()))
    return tuple(dict.fromkeys(found))


@cache
def _public_handlers() -> dict[str, type[Event]]:
    return {ON_FILE: Event, **{handler_name(kind): kind for kind in public_events()}}


def handlers(rule: type[Rule]) -> tuple[str, ...]:
    """The names of the event methods that a rule class has."""
    return tuple(name for name in dir(rule) if name.startswith("on_"))


def known_handlers(rule: type[Rule]) -> dict[str, type[Event]]:
    """The names that handlers of a rule may have, each with the class of events that it judges.

    These are the events of the package, those that the rule's trackers derive and those that the rule's file
    defines or imports, which take precedence: packs may define events of the same name.
    """
    own = [kind for tracker in rule.trackers for kind in tracker.derives]
    files = [
        vars(sys.modules[cls.__module__]).values() for cls in rule.__mro__ if cls.__module__ in sys.modules
    ]
    seen = [kind for names in reversed(files) for kind in _events_in(names)]
    return {**_public_handlers(), **{handler_name(kind): kind for kind in (*seen, *own)}}


def judged_events(rule: type[Rule]) -> dict[str, type[Event]]:
    """The class of events that each handler of a rule judges. One that sees whole files judges all events."""
    known = known_handlers(rule)
    return {name: known[name] for name in handlers(rule) if name in known}


def _events_in(values: Iterable[object]) -> list[type[Event]]:
    return [value for value in values if isinstance(value, type) and issubclass(value, Event)]
