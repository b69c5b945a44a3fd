"""Methods that a class inherits, and that call what the class defines itself.

As a method of the base they do little: what they call is not there yet, or does something else. What they do
with an object of the class is seen by running them on one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.analysis.object_life import ObjectLife
from gradcheck_tool.domain.records import Class, Func

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.analysis.starts import Starts
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref

# How many of them are run on the objects of one class.
MOST = 3


def template_methods(s: State, cls: Ref, starts: Starts) -> list[Ref]:
    """The inherited methods that compute gradients, or what is returned, with what a class defines itself.

    Of methods that call each other, those that are called: they are what the class is written for.
    """
    own = {name for name, value in s[cls].attrs.items() if s.get(value, Func) is not None}
    if not own or all(s.get(entry, Class) is None for entry in s[cls].mro[1:]):
        return []
    wanted = {name for name in own if s[s[cls].attrs[name]].function in starts}
    life = ObjectLife(s, cls)
    found: dict[str, Ref] = {}
    for name, value in _inherited(s, cls):
        mine = life.reach(name) & own
        of_interest = mine & wanted or (mine and s[value].function in starts)
        if of_interest and (life.differentiates(name) or name == "forward"):
            found[name] = value
    inner = [name for name in found if not (life.reach(name) & found.keys()) - {name}]
    return [found[name] for name in inner[:MOST]]


def _inherited(s: State, cls: Ref) -> Iterator[tuple[str, Ref]]:
    """The methods that a class has of its bases in the repository."""
    seen = set(s[cls].attrs)
    for entry in s[cls].mro[1:]:
        record = s.get(entry, Class)
        for name, value in record.attrs.items() if record is not None else ():
            if name not in seen and not name.startswith("__") and s.get(value, Func) is not None:
                yield name, value  # type: ignore[misc]
            seen.add(name)
