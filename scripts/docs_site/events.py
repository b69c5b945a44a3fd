"""The reference of events for writers of rules, made from the classes."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import EngineError, Event, PythonError
from gradcheck_tool.rulebook.handlers import handler_name, public_events

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = "docs/events.md"

_HEAD = """\
# Events

Events are what rules judge: a rule has a handler method for each class of events that it wants to see, and yields findings from
it. [Writing rules of your own](writing-rules.md) shows how. All these classes are imported from `gradcheck_tool`. Fields of
type `str` hold source text of the program, such as `scores` or `self.hidden`, unless this page says otherwise.

This page is made from the classes by `scripts/document_rules.py`.
"""
_GROUPS = (
    (
        "What PyTorch raises",
        "The path through the program ends there. `text` is PyTorch's message.",
        EngineError,
    ),
    ("What Python raises", "The path ends there as well. `text` is Python's message.", PythonError),
    ("What raises nothing", "", Event),
)


def render_events() -> str:
    """The page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    bases = [Event, *(base for _, _, base in _GROUPS if base is not Event)]
    yield from (_HEAD, "## Every event", "", _documentation(Event), "")
    yield from _fields(Event)
    left = sorted(set(public_events()) - set(bases), key=lambda event: event.__name__)
    for title, introduction, base in _GROUPS:
        yield from (f"## {title}", "", *([introduction, ""] if introduction else []))
        for event in [one for one in left if issubclass(one, base)]:
            left.remove(event)
            yield from (f"### {event.__name__}", "", f"Handler: `{handler_name(event)}`", "")
            yield from (_documentation(event), "")
            yield from _fields(event)


def _documentation(event: type[Event]) -> str:
    return inspect.cleandoc(event.__doc__ or "")


def _fields(event: type[Event]) -> Iterator[str]:
    """The fields that the class has itself."""
    inherited = {
        field.name for base in event.__mro__[1:] if issubclass(base, Event) for field in fields(base)
    }
    own = [field for field in fields(event) if field.name not in inherited]
    if own:
        yield from ("| field | type |", "|---|---|")
        yield from (f"| `{field.name}` | {_type(str(field.type))} |" for field in own)
        yield ""


def _type(annotation: str) -> str:
    """The type as code, in which a bar would end the cell of a table."""
    return f"`{re.sub(r' *[|] *', ' or ', annotation)}`"
