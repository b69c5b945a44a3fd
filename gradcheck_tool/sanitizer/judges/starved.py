"""Parameters that an optimizer never sees a gradient of, and where their path to the loss is cut."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import cut_off, placed, quoted, step
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
    for optimizer in records.steps.known:
        if optimizer.steps < OFTEN_ENOUGH or is_idle(records, optimizer):
            continue
        by_cut: dict[Cut, list[int]] = {}
        starving = set(_starving(optimizer))
        for token in sorted(starving):
            given = _refused(records, token, optimizer)
            if given is not None:
                yield given
                continue
            reached = token in records.graphs.leaves  # by what another optimizer applies
            cut = None if reached else _cut_of(records, token, starving)
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
    return max(behind, key=lambda cut: (not cut.gives_numbers, cut.tracked), default=None)


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
        *cut_off(cut),
        step(optimizer.step_site, "none of the steps finds a gradient of theirs"),
    )
    return Told(
        NUMBERS if cut.gives_numbers else STARVED,
        cut.site.location,
        f"{quoted(cut.site, f'`{cut.operation}`')} cuts the path from {names_of(records, shapes)} to the "
        f"loss: {optimizer.kind} never sees a gradient of theirs",
        placed(*steps),
        evidence={"steps": f"{optimizer.steps} of {optimizer.steps}", "parameters": len(tokens)},
    )


def _without_any(records: Records, optimizer: OptimizerRecord) -> Iterator[Told]:
    """No step finds any gradient, and it is not known why: the backward before them reaches other leaves.

    Parameters that do not require grad may rest on purpose, as long as the backward trains something else.
    """
    before, site = optimizer.pass_site, optimizer.step_site
    if before is None or site is None:
        return
    resting = not all(parameter.required for parameter in optimizer.parameters.values())
    lost = _reached_in_vain(records, before)
    if resting and not lost:
        return
    names = names_of(records, {token: one.shape for token, one in optimizer.parameters.items()})
    why = ", which do not all require grad" if resting else ""
    instead = f"; what it reaches no optimizer has ({names_of(records, lost)})" if lost else ""
    steps = (
        step(optimizer.site, f"these parameters are given to {optimizer.kind} here"),
        step(before, "this backward reaches none of them", "backward"),
        step(site, "none of the steps finds a gradient of theirs"),
    )
    yield Told(
        STARVED,
        before.location,
        f"{quoted(before, 'the backward')} reaches none of the parameters of {optimizer.kind} "
        f"({names}){why}: none of its steps changes anything{instead}",
        placed(*steps),
        evidence={
            "steps": f"{optimizer.without} of {optimizer.steps}",
            "parameters": len(optimizer.parameters),
        },
    )


def _reached_in_vain(records: Records, site: Site) -> dict[int, tuple[int, ...]]:
    """The parameters that passes at a place reach, if no optimizer has any of them; their shapes."""
    held = {token for one in records.steps.known for token in one.parameters}
    reached = records.graphs.of_place.get(site, set())
    if not reached.isdisjoint(held):
        return {}
    leaves = {token: records.graphs.leaves[token] for token in sorted(reached)}
    return {token: leaf.shape for token, leaf in leaves.items() if leaf.is_parameter}


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
        f"{names_of(records, {token: leaf.shape})}, which {optimizer.kind} is meant to train",
        (
            TraceStep(applied, "the Function is applied to it here", "called"),
            *(
                TraceStep(place, "its backward returns the gradients here", "backward")
                for place in _returns(leaf.custom)
            ),
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
