"""Hooks that compute a new gradient and return nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

NOTHING = "GL809"


def judge(records: Records) -> Iterator[Told]:
    """Tell which hook loses the gradient that it computes, each time it is called."""
    for hook in records.hooks.known.values():
        if hook.lost < OFTEN_ENOUGH or hook.lost < hook.times or hook.place is None:
            continue
        steps = (
            step(hook.site, f"`{hook.name}` is registered here"),
            step(hook.place, "it computes another gradient here, which ends with it"),
        )
        yield Told(
            NOTHING,
            hook.place.location,
            f"`{hook.name}` computes {quoted(hook.place, 'another gradient')} and returns nothing: the "
            "gradient stays as it is",
            placed(*steps),
            evidence={"calls": f"{hook.lost} of {hook.times}"},
        )
