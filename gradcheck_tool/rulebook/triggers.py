"""What a rule declares to be worth executing, and which names it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.rulebook.handlers import judged_events, public_events
from gradcheck_tool.trackers.events import NameUse
from gradcheck_tool.trigger import Trigger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.rulebook.rule import Rule

# At the end of a name: all names that begin so.
ANY = ".*"


def triggers_of(rule: type[Rule]) -> tuple[Trigger, ...]:
    """The triggers that a rule declares, or those of its names and of the events that it judges.

    Raises:
        ValueError: it judges an event that says nothing about where it happens.
    """
    if rule.triggers:
        return rule.triggers
    found = [Trigger.of_name(name) for name in rule.names]
    for kind in judged_events(rule).values():
        if kind is not NameUse:
            found += _triggers_of_event(rule, kind)
    return tuple(dict.fromkeys(found))


def _triggers_of_event(rule: type[Rule], event: type[Event]) -> Iterator[Trigger]:
    """The triggers of an event; of one that has subclasses and none of its own, those of the subclasses."""
    below = [kind for kind in public_events() if issubclass(kind, event) and kind is not event]
    if event.triggers:
        yield from event.triggers
    elif below:
        yield from (trigger for kind in below for trigger in kind.triggers)
    else:
        raise ValueError(
            f"{rule.__name__} judges {event.__name__}, which may happen in any code: declare `triggers`, "
            "which say what makes a function that nothing calls worth executing"
        )


def is_named(name: str, names: tuple[str, ...]) -> bool:
    """Is a full name one of those that a rule declares?"""
    return name in names or any(
        declared.endswith(ANY) and name.startswith(declared[:-1]) for declared in names
    )
