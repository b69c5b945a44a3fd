"""Custom Functions whose backward computes with what it cannot know: a wrong gradient, and nothing raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, step
from gradcheck_tool.sanitizer.sites import only_return, reads_attribute
from gradcheck_tool.sanitizer.source import kept_in
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.functions import Use
    from gradcheck_tool.sanitizer.records import Records

KEPT, OVERWRITTEN, UNREAD = "GL723", "GL721", "GL724"
_BEFORE = ("forward", "setup_context")


def judge(records: Records) -> Iterator[Told]:
    """Tell what the forward has kept, and where the backward uses it or does not."""
    functions = records.functions
    for use, times in functions.constants.items():
        if times >= OFTEN_ENOUGH and use.used in records.graphs.places:
            yield _told(
                KEPT,
                use,
                times,
                f"the backward of `{use.function.__name__}` is differentiated, and takes {_what(use)}, which "
                "forward has computed without a graph, for a constant: the second derivative lacks its part",
            )
    for use, times in functions.others.items():
        if times >= OFTEN_ENOUGH:
            yield _told(
                OVERWRITTEN,
                use,
                times,
                f"the backward of `{use.function.__name__}` computes with {_what(use)} that another call of "
                "it has left: the gradient is wrong",
            )
    yield from _unread(records)


def _told(code: str, use: Use, times: int, message: str) -> Told:
    kept = _kept(use)
    steps = (
        step(use.made, "forward computes it here, without a graph", "made"),
        None if kept is None else TraceStep(kept, "it is kept here", "saved"),
        step(use.used, "backward uses it here", "backward"),
    )
    return Told(code, kept or use.used.location, message, placed(*steps), evidence={"times": times})


def _what(use: Use) -> str:
    return f"`{use.name}`" if use.name else "a tensor"


def _kept(use: Use) -> Location | None:
    """The place in forward that keeps a value for backward."""
    for code in _codes(use.function, _BEFORE):
        for place in kept_in(code, use.name.rpartition(".")[2] or "save_for_backward"):
            return place
    return None


def _unread(records: Records) -> Iterator[Told]:
    """Numbers that have no effect: forward passes its input on, and backward does not read them."""
    for (function, name), known in records.functions.numbers.items():
        backward = dict(vars(function)).get("backward")
        code = getattr(getattr(backward, "__func__", None), "__code__", None)
        others = [one for one in vars(function) if one not in _BEFORE]
        is_read = any(reads_attribute(one, name) for one in _codes(function, others))
        if code is None or is_read or known.times < OFTEN_ENOUGH or len(known.values) < OFTEN_ENOUGH:
            continue
        place = only_return(code)
        if place is None:
            continue
        least, most = min(known.values), max(known.values)
        yield Told(
            UNREAD,
            place,
            f"the backward of `{function.__name__}` does not use `ctx.{name}`, and its forward passes its "
            f"input on: the gradient is the same for {least:.4g} and for {most:.4g}",
            placed(
                step(
                    known.site, f"the Function is applied here, with numbers that forward keeps in `{name}`"
                ),
                TraceStep(place, "backward returns its gradients without them"),
            ),
            evidence={"times": known.times},
        )


def _codes(function: type[Any], names: Iterable[str]) -> Iterator[CodeType]:
    for name in names:
        method = vars(function).get(name)
        code = getattr(getattr(method, "__func__", method), "__code__", None)
        if code is not None:
            yield code
