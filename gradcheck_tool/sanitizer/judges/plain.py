"""What PyTorch refuses at once: the exception says what is wrong, and its place is where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.report.not_watched import HOOKS
from gradcheck_tool.sanitizer.graphs import nodes_from
from gradcheck_tool.sanitizer.judges.exception import Raised, caller_of, quoted, step
from gradcheck_tool.sanitizer.memory import node_of, version_of
from gradcheck_tool.sanitizer.receiver import Named, bound_at, receiver
from gradcheck_tool.sanitizer.sites import only_return, only_use
from gradcheck_tool.sanitizer.tokens import token_of

if TYPE_CHECKING:
    from types import FrameType

    from gradcheck_tool.sanitizer.told import Told

_FUNCTION = re.compile(r"\b[Ff]unction (\w+)Backward\b")
Judge = Callable[[Raised], "Told | None"]


Steps = Callable[[Raised], Iterable[TraceStep | None]]
"""Gives steps of a story that come before what is refused, or after its tensor."""


def _nothing(_: Raised) -> Iterable[TraceStep]:
    return ()


def _any(_: Tensor) -> bool:
    return True


def refused(code: str, why: str, before: Steps = _nothing) -> Judge:
    """A judge of one kind of refusal; `why` follows the source text of the place."""

    def judge(raised: Raised) -> Told | None:
        return raised.told(
            code, f"{quoted(raised.site, 'this call')} {why}", *before(raised), caller_of(raised.site)
        )

    return judge


def refused_tensor(
    code: str,
    why: str,
    *,
    before: Steps = _nothing,
    after: Steps = _nothing,
    fits: Callable[[Tensor], bool] = _any,
) -> Judge:
    """The same for what is refused because of a tensor that `fits`: it is told where that comes from, too."""

    def judge(raised: Raised) -> Told | None:
        frame = raised.frame
        found = None if frame is None else receiver(frame, raised.site.location, fits)
        return raised.told(
            code,
            f"{quoted(raised.site, 'this call')} {why}{_which(raised, found)}",
            *before(raised),
            *(() if found is None or frame is None else _origin(raised, found, frame)),
            *after(raised),
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
            None
            if call is None
            else step(call.site, f"`{call.function.__name__}` is applied here", "called"),
            None if end is None else TraceStep(end, "its backward returns here", "backward"),
            caller_of(raised.site),
        )

    return judge


def refused_forward(code: str, why: str, calls: str = "") -> Judge:
    """The same for what the forward of a Function does wrong: where it calls that of `ctx`, and returns."""

    def before(raised: Raised) -> Iterator[TraceStep | None]:
        function = raised.local("apply", "cls")
        forward = getattr(getattr(function, "forward", None), "__code__", None)
        if forward is None:
            return
        called, end = only_use(forward, calls) if calls else None, only_return(forward)
        if called is not None:
            yield TraceStep(called, f"its forward calls `{calls}` here", "called")
        if end is not None:
            yield TraceStep(end, "its forward returns here")

    return refused(code, why, before)


def hooks_set(raised: Raised) -> Iterator[TraceStep | None]:
    """Where hooks on saved tensors were set."""
    for one in raised.records.left_alone.all():
        if one.why == HOOKS:
            yield TraceStep(one.location, "hooks on saved tensors are set here")


def base_written(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the base of a view was written to last."""
    found = None if raised.frame is None else receiver(raised.frame, raised.site.location, Tensor._is_view)
    base = None if found is None else found.tensor._base
    if base is not None and version_of(base):
        yield step(raised.made(base), "the memory that it shares is written to here", "changed")


def viewed(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the leaf was made that a view is one of, itself a view that was made without gradients."""
    found = None if raised.frame is None else receiver(raised.frame, raised.site.location)
    node = None if found is None else node_of(found.tensor)
    leaves = [one.variable for one in nodes_from(node) if hasattr(one, "variable")]
    for leaf in leaves:
        if leaf._is_view() and raised.frame is not None:
            place = bound_at(raised.frame, leaf)
            yield (
                None
                if place is None
                else TraceStep(place, "it is a view of this, made without gradients", "alias")
            )


def made_in_inference(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the pass ran in inference mode that made the gradient which another one adds to."""
    passes = raised.records.passes
    last = passes.last
    if last is not None and raised.is_in(last.site):
        made = next((one for one in passes.before(last) if one.in_inference and one.accumulates), None)
        yield (
            None
            if made is None
            else step(made.site, "this backward makes the gradient, in inference mode", "backward")
        )


def copied(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the tensor comes out of an operation that a copy of an object meets."""
    tensor = raised.local("__deepcopy__", "self")
    node = node_of(tensor)
    yield (
        None
        if node is None
        else step(raised.made(tensor), f"the tensor that it meets comes out of `{node.name()}` here", "made")
    )


def inputs_given(raised: Raised) -> Iterator[TraceStep | None]:
    """Where the inputs come from that a backward is given."""
    inputs = raised.local("backward", "inputs")
    place = None if raised.frame is None or inputs is None else bound_at(raised.frame, inputs)
    yield None if place is None else TraceStep(place, "what it is given is made here", "made")


def _which(raised: Raised, found: Named | None) -> str:
    """The name of a parameter, where it is one of a module."""
    token = token_of(found.tensor) if found is not None and found.is_it else -1
    origin = raised.records.parameters.origins.get(token)
    return "" if origin is None else f" (it is `{origin.owner}`)"


def _origin(raised: Raised, found: Named, frame: FrameType) -> Iterator[TraceStep | None]:
    tensor, what = found.tensor, "this tensor" if found.is_it else "what it is computed from"
    node = node_of(tensor)
    if node is None:
        place = bound_at(frame, tensor)
        yield None if place is None else TraceStep(place, f"{what} is made here", "made")
        return
    yield step(raised.made(tensor), f"{what} comes out of `{node.name()}` here", "made")
    forward = getattr(getattr(getattr(node, "_forward_cls", None), "forward", None), "__code__", None)
    place = None if forward is None else only_return(forward)
    yield None if place is None else TraceStep(place, "the forward of that Function returns it here")
