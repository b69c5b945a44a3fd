"""Room for deep calls.

A call in the program takes fifteen to thirty of Python's, whose own limit is raised while a program is
executed.

CPython keeps the frames of running functions in blocks of 16 KB. It asks the system for one when a call
does not fit into the last, and gives it back as soon as that call returns. Execution goes deep, so that the
code that happens to stand before the end of a block does so for each of its calls, thousands of times a
second.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, TypeVar, cast

from gradcheck_tool.ir.recursion import recursion_limit

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# A frame that needs so many words gets a block of 1 MB and leaves nearly half of it to what it calls, which
# calls as deep as Python allows do not fill.
_WORDS = 70_000
# So many calls of Python for as many calls of a program as are followed one inside another.
_CALLS = 5_000


def _run(work: Callable[[], T]) -> T:
    with recursion_limit(_CALLS):
        return work()


with_room = cast(
    "Callable[[Callable[[], T]], T]",
    FunctionType(_run.__code__.replace(co_stacksize=_WORDS), globals(), "with_room"),
)
