"""What PyTorch refuses at once: the exception says what is wrong, and its place is where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges.exception import Raised, caller_of, quoted, step
from gradcheck_tool.sanitizer.memory import node_of
from gradcheck_tool.sanitizer.receiver import Named, bound_at, receiver
from gradcheck_tool.sanitizer.sites import only_return
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from types import FrameType

    from gradcheck_tool.sanitizer.told import Told

_FUNCTION = re.compile(r"\b[Ff]unction (\w+)Backward\b")
Judge = Callable[[Raised], "Told | None"]


def _nothing(_: Raised) -> Iterable[TraceStep]:
    return ()


def refused(code: str, why: str) -> Judge:
    """A judge of one kind of refusal; `why` follows the source text of the place."""

    def judge(raised: Raised) -> Told | None:
        return raised.told(code, f"{quoted(raised.site, 'this call')} {why}")

    return judge


def refused_tensor(
    code: str, why: str, before: Callable[[Raised], Iterable[TraceStep | None]] = _nothing
) -> Judge:
    """The same for what is refused because of a tensor: it is told where that comes from, too.

    `before` gives steps that come before that.
    """

    def judge(raised: Raised) -> Told | None:
        frame = raised.frame
        found = None if frame is None else receiver(frame, raised.site.location)
        return raised.told(
            code,
            f"{quoted(raised.site, 'this call')} {why}{_which(raised, found)}",
            *before(raised),
            None if found is None or frame is None else _origin(raised, found, frame),
            caller_of(raised.site),
        )

    return judge


def refused_function(code: str, why: str) -> Judge:
    """The same for what a custom Function does wrong in its backward: where that was applied, and returns."""

    def judge(raised: Raised) -> Told | None:
        name = _FUNCTION.search(raised.text)
        call = None if name is None else raised.records.functions.last_of(name[1])
        backward: Any = None if call is None else getattr(call.function.backward, "__code__", None)
        end = None if backward is None else only_return(backward)
        return raised.told(
            code,
            f"{quoted(raised.site, 'this call')} {why}",
            None if call is None else step(call.site, f"`{call.function.__name__}` is applied here"),
            None if end is None else TraceStep(end, "its backward returns here"),
        )

    return judge


def _which(raised: Raised, found: Named | None) -> str:
    """The name of a parameter, where it is one of a module."""
    token = token_of(found.tensor) if found is not None and found.is_it else -1
    origin = raised.records.parameters.origins.get(token)
    return "" if origin is None else f" (it is `{origin.owner}`)"


def _origin(raised: Raised, found: Named, frame: FrameType) -> TraceStep | None:
    tensor, what = found.tensor, "this tensor" if found.is_it else "what it is computed from"
    node = node_of(tensor)
    if node is not None:
        return step(raised.made(tensor), f"{what} comes out of `{node.name()}` here")
    place = bound_at(frame, tensor)
    return None if place is None else TraceStep(place, f"{what} is made here")
