"""Which parameters the optimizers of a program hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import Ref, Tup, Value

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State


# The attribute of an optimizer that has its parameters.
HELD = "#params"


def known_optimizers(s: State) -> list[tuple[Ref, tuple[Value, ...]]]:
    """The optimizers that are known, and the parameters that each is known to hold."""
    known = [(ref, record.attrs.get(HELD)) for ref, record in s.records(Instance)]
    return [(ref, held.items) for ref, held in known if isinstance(held, Tup)]


def held_parameters(s: State, of: Ref | None = None) -> set[Value] | None:
    """The parameters that the optimizers hold; None where one may hold others.

    With `of`, None where one may hold this tensor or module: those that were made before it cannot.
    """
    found: set[Value] = set()
    for ref, record in s.records(Instance):
        held = record.attrs.get(HELD)
        if isinstance(held, Tup):
            if (record.open or held.open) and (of is None or ref.id > of.id):
                return None
            found.update(held.items)
    return found
