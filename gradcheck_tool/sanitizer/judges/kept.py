"""Graphs of earlier passes that something keeps: memory grows from step to step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.holders import ATTRIBUTE, BUFFER, COLLECTED, VARIABLE
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.source import puts_into
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.findings import Location
    from gradcheck_tool.sanitizer.holders import Holder
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site

KEPT = "GL602"
_CODES = {COLLECTED: KEPT, ATTRIBUTE: "GL603", BUFFER: "GL604", VARIABLE: "GL601"}

_OFTEN_ENOUGH = 3


def judge(records: Records) -> Iterator[Told]:
    """Tell which operation's result is kept, and by what."""
    kept = records.graphs.kept
    sites = [site for site in kept.values() if site is not None]
    if len(kept) < _OFTEN_ENOUGH or not sites or records.graphs.keeps_few:
        return
    site = max(set(sites), key=sites.count)
    if sites.count(site) < _OFTEN_ENOUGH:
        return
    known = [(holder, made, _place(holder, made)) for holder, made in records.graphs.holders]
    by_place = {place: (holder, made) for holder, made, place in known if place is not None}
    grows, evidence = _growth(records)
    for place, (holder, made) in by_place.items():
        yield _held(holder, made, place, grows, evidence)
    if not by_place:
        one = step(site, "the graph behind this result is kept from step to step")
        yield Told(
            KEPT,
            site.location,
            f"the graph behind {quoted(site, 'this')} outlives the backward that freed it: something keeps "
            f"it, and {grows}",
            placed(one),
            evidence=evidence,
        )


def _growth(records: Records) -> tuple[str, dict[str, int]]:
    """By how much memory grows."""
    evidence, growth = {"graphs_kept": len(records.graphs.kept)}, records.graphs.growth
    if growth is None:
        return "memory grows with every step", evidence
    evidence.update({"nodes_a_step": growth.nodes, "bytes_a_step": growth.size})
    nodes = f"{growth.nodes} node{'s' * (growth.nodes != 1)}"
    return f"memory grows with every step, by {nodes} and {growth.size:,} bytes of tensors", evidence


def _held(holder: Holder, made: Site | None, place: Location, grows: str, evidence: dict[str, int]) -> Told:
    name = f"`{holder.name}`" + (f" of {holder.owner}" if holder.owner else "")
    is_there = made is not None and made.location.start.row == place.start.row
    steps = () if is_there else placed(step(made, "this result has a graph", "made"))
    return Told(
        _CODES[holder.kind],
        place,
        f"{name} keeps the graph behind {quoted(made, 'a result')} from step to step: it outlives its "
        f"backward, and {grows}",
        (*steps, TraceStep(place, f"{name} keeps it from here on")),
        evidence=evidence,
    )


def _place(holder: Holder, made: Site | None) -> Location | None:
    """Where the program puts what is kept there, the first of such places."""
    behind = [code.co_filename for code, _ in made.frames] if made is not None else []
    for filename in dict.fromkeys((*holder.files, *behind)):
        places = puts_into(filename, holder.name, collects=holder.kind == COLLECTED)
        if places:
            return places[0]
    return None
