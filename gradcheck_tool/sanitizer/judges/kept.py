"""Graphs of earlier passes that something keeps: memory grows from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

KEPT = "GL602"

_OFTEN_ENOUGH = 3


def judge(records: Records) -> Iterator[Told]:
    """Tell which operation's result is kept."""
    kept = records.graphs.kept
    sites = [site for site in kept.values() if site is not None]
    if len(kept) < _OFTEN_ENOUGH or not sites:
        return
    site = max(set(sites), key=sites.count)
    if sites.count(site) < _OFTEN_ENOUGH:
        return
    one = step(site, "the graph behind this result is kept from step to step")
    yield Told(
        KEPT,
        site.location,
        f"the graph behind {quoted(site, 'this')} outlives the backward that freed it: something keeps it, "
        "and memory grows with every step",
        placed(one),
        evidence={"graphs kept": len(kept)},
    )
