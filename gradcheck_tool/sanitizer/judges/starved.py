"""Parameters that an optimizer never sees a gradient of, and where their path to the loss is cut."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.idle import is_idle
from gradcheck_tool.sanitizer.sites import only_return
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.cuts import Cut
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord

STARVED, NUMBERS, NO_GRADIENT = "GL504", "GL503", "GL720"


def judge(records: Records) -> Iterator[Told]:
    """Tell, for each place that cuts paths, which parameters starve behind it."""
    for optimizer in records.steps.known.values():
        if optimizer.steps < OFTEN_ENOUGH or is_idle(records, optimizer):
            continue
        by_cut: dict[Cut, list[int]] = {}
        starving = set(_starving(optimizer))
        for token in sorted(starving):
            given = _refused(records, token, optimizer)
            if given is not None:
                yield given
                continue
            cut = _cut_of(records, token, starving)
            if cut is not None:
                by_cut.setdefault(cut, []).append(token)
        for cut, tokens in by_cut.items():
            yield _told(records, optimizer, cut, tokens)
        if not by_cut and optimizer.without == optimizer.steps:
            yield from _without_any(records, optimizer)


def names_of(records: Records, shapes: dict[int, tuple[int, ...]]) -> str:
    """Parameters by their names, or by their shapes where no module has them; `shapes` are by token."""
    names = []
    for token, shape in list(shapes.items())[:3]:
        origin = records.parameters.origins.get(token)
        names.append(f"`{origin.owner}`" if origin is not None else f"a tensor of shape {list(shape)}")
    more = len(shapes) - len(names)
    return ", ".join(dict.fromkeys(names)) + (f" and {more} more" if more else "")


def _starving(optimizer: OptimizerRecord) -> Iterator[int]:
    for token, parameter in optimizer.parameters.items():
        never = parameter.without >= OFTEN_ENOUGH and not parameter.with_gradient
        if parameter.required and never:
            yield token


def _cut_of(records: Records, token: int, starving: set[int]) -> Cut | None:
    """A place that cuts off what depends on a parameter; one where values are only read last of all."""
    behind = [
        cut
        for cut in records.cuts.known.values()
        if token in cut.leaves and cut.times >= OFTEN_ENOUGH and not _is_boundary(cut, starving)
    ]
    return max(behind, key=lambda cut: (cut.operation != "_local_scalar_dense", cut.tracked), default=None)


def _is_boundary(cut: Cut, starving: set[int]) -> bool:
    """Has the cut another purpose: does its value serve several passes, or does it end a part of a sequence?

    A value that several passes use has to be cut off, because the first one frees its graph. So has a state
    that is carried from window to window: the first window cuts off what made it, the next ones what is
    trained all the same.
    """
    return cut.shared or (cut.tracked and any(walk and walk.isdisjoint(starving) for walk in cut.walks))


def _told(records: Records, optimizer: OptimizerRecord, cut: Cut, tokens: list[int]) -> Told:
    shapes = {token: optimizer.parameters[token].shape for token in tokens}
    steps = (
        step(optimizer.site, f"these parameters are given to {optimizer.kind} here"),
        step(cut.site, cut.message),
        step(optimizer.step_site, "none of the steps finds a gradient of theirs"),
    )
    return Told(
        NUMBERS if cut.operation == "_local_scalar_dense" else STARVED,
        cut.site.location,
        f"{quoted(cut.site, f'`{cut.operation}`')} cuts the path from {names_of(records, shapes)} to the "
        f"loss: {optimizer.kind} never sees a gradient of theirs",
        placed(*steps),
        evidence={"steps": f"{optimizer.steps} of {optimizer.steps}", "parameters": len(tokens)},
    )


def _without_any(records: Records, optimizer: OptimizerRecord) -> Iterator[Told]:
    """No step finds any gradient, and it is not known why: the backward before them reaches other leaves."""
    before, site = optimizer.pass_site, optimizer.step_site
    shapes = {token: optimizer.parameters[token].shape for token in _starving(optimizer)}
    if before is None or site is None or len(shapes) < len(optimizer.parameters):
        return
    steps = (
        step(optimizer.site, f"these parameters are given to {optimizer.kind} here"),
        step(before, "this backward reaches none of them"),
        step(site, "none of the steps finds a gradient of theirs"),
    )
    yield Told(
        STARVED,
        before.location,
        f"{quoted(before, 'the backward')} reaches none of the parameters of {optimizer.kind} "
        f"({names_of(records, shapes)}): none of its steps changes anything",
        placed(*steps),
        evidence={"steps": f"{optimizer.without} of {optimizer.steps}", "parameters": len(shapes)},
    )


def _refused(records: Records, token: int, optimizer: OptimizerRecord) -> Told | None:
    """Passes reach the parameter, but the Function that reads it returns no gradient for it."""
    leaf = records.graphs.leaves.get(token)
    if leaf is None or leaf.custom is None or leaf.reader is None:
        return None
    applied = _applied(leaf.reader, leaf.custom)
    return Told(
        NO_GRADIENT,
        applied,
        f"the backward of `{leaf.reader_name.removesuffix('Backward')}` returns no gradient for "
        f"{names_of(records, {token: leaf.shape})}, which {optimizer.kind} is to train",
        (
            TraceStep(applied, "the Function is applied to it here"),
            *(TraceStep(place, "its backward returns the gradients here") for place in _returns(leaf.custom)),
        ),
        evidence={"steps": f"{optimizer.steps} of {optimizer.steps}"},
    )


def _applied(reader: Site, function: type[Any]) -> Location:
    """Where a custom Function is applied: its node is known by what runs first within its forward."""
    forward = getattr(getattr(function, "forward", None), "__code__", None)
    codes = [code for code, _ in reader.frames]
    outside = codes.index(forward) + 1 if forward in codes else 0
    return next(islice([reader.location, *reader.callers], outside, None), reader.location)


def _returns(function: type[Any]) -> Iterator[Location]:
    """The place where the backward of a custom Function returns, where it returns in one place."""
    code = getattr(getattr(function, "backward", None), "__code__", None)
    place = only_return(code) if code is not None else None
    if place is not None:
        yield place
