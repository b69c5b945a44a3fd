"""The methods by which rules judge events, named after the classes: `on_freed_graph` for `FreedGraph`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Event
from gradcheck_tool.spelling import snake_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.rulebook.rule import Rule

# The one handler that is not named after an event: it gets all events of a file at once.
ON_FILE = "on_file"


def handler_name(event: type[Event]) -> str:
    """The method that judges an event class: `FreedGraph` -> `on_freed_graph`."""
    return "on_" + snake_case(event.__name__)


def event_classes(base: type[Event] = Event) -> Iterator[type[Event]]:
    """Every event class, bases included, so that a rule may judge all engine errors at once."""
    yield base
    # A dataclass with slots is a second class, made of the first, which lives until it is collected.
    latest = {(kind.__module__, kind.__qualname__): kind for kind in base.__subclasses__()}
    for kind in latest.values():
        yield from event_classes(kind)


def handlers(rule: type[Rule]) -> tuple[str, ...]:
    """The names of the event methods that a rule class has."""
    return tuple(name for name in dir(rule) if name.startswith("on_"))


def known_handlers() -> frozenset[str]:
    """The names that a handler may have; events that rule packs define have handlers like the others."""
    return frozenset({ON_FILE, *map(handler_name, event_classes())})


def judged_events(rule: type[Rule]) -> Iterator[type[Event]]:
    """The classes of events that a rule has handlers for. One that sees whole files judges all events."""
    names = handlers(rule)
    if ON_FILE in names:
        yield Event
    seen = set()
    for kind in event_classes():
        name = handler_name(kind)
        if name in names and name not in seen:
            seen.add(name)
            yield kind
