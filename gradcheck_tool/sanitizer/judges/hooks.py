"""Hooks that compute a new gradient and return nothing, or change one that is not theirs alone."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.plain import refused_tensor
from gradcheck_tool.sanitizer.judges.starved import names_of
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.findings import TraceStep
    from gradcheck_tool.sanitizer.hooks import Hook
    from gradcheck_tool.sanitizer.judges.exception import Raised
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site

CHANGES, REFUSED, NOTHING = "GL806", "GL807", "GL809"
_NAMED = 3
"""So many places are told where hooks were registered."""


def judge(records: Records) -> Iterator[Told]:
    """Tell which hook loses the gradient that it computes, each time it is called, or changes another one."""
    for hook in records.hooks.known.values():
        if hook.lost >= OFTEN_ENOUGH and hook.lost == hook.times and hook.place is not None:
            yield _loses(hook, hook.place)
        if len(hook.changed) >= OFTEN_ENOUGH and hook.write is not None:
            yield _changes(hook, hook.write, records)


def _registered(raised: Raised) -> Iterator[TraceStep | None]:
    for site in islice(raised.records.hooks.on_backwards, _NAMED):
        yield step(site, "a full backward hook is registered here")


def after(raised: Raised) -> Iterator[TraceStep | None]:
    """Where hooks were registered that get a leaf once its gradient is added."""
    for site, name in islice(raised.records.hooks.after, _NAMED):
        yield step(site, f"`{name}` is registered here")


def on_tensors(raised: Raised) -> Iterator[TraceStep | None]:
    """Where hooks on gradients of tensors were registered."""
    for hook in islice(raised.records.hooks.known.values(), _NAMED):
        yield step(hook.site, f"`{hook.name}` is registered here")


writes = refused_tensor(
    REFUSED,
    "writes in place to what a module with a full backward hook takes or returns",
    before=_registered,
)
"""Tells what is written that a module with a hook on its backward takes or returns."""


def _loses(hook: Hook, place: Site) -> Told:
    steps = (
        step(hook.site, f"`{hook.name}` is registered here"),
        step(place, f"it computes another {hook.of} here, which ends with it"),
    )
    return Told(
        NOTHING,
        place.location,
        f"`{hook.name}` computes {quoted(place, 'another one')} and returns nothing: the {hook.of} stays as "
        "it is",
        placed(*steps),
        evidence={"calls": f"{hook.lost} of {hook.times}"},
    )


def _changes(hook: Hook, write: Site, records: Records) -> Told:
    leaves = {token: shape for one in hook.changed for token, shape in one.leaves.items()}
    nodes = {name: site for one in hook.changed for name, site in one.nodes.items()}
    name, site = next(iter(nodes.items()), ("", None))
    other = f"the gradient of {names_of(records, leaves)}" if leaves else f"what {quoted(site, name)} gets"
    steps = (
        step(hook.site, f"`{hook.name}` is registered here"),
        step(write, "it changes the gradient in place here", "changed"),
        *(step(made, f"the derivative of this (`{one}`) computes with it") for one, made in nodes.items()),
    )
    return Told(
        CHANGES,
        write.location,
        f"`{hook.name}` changes a gradient in place, and with it {other}, which has the same memory: a hook "
        "is to return a new one",
        placed(*steps),
        evidence={"calls": f"{len(hook.changed)} of {hook.times}"},
    )
