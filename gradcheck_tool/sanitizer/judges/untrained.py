"""Parameters that get gradients in every pass, and that no optimizer moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.starved import names_of
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.graphs import Leaf
    from gradcheck_tool.sanitizer.parameters import Origin
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.steps import OptimizerRecord

_WORDS = (
    "gets a gradient in every backward, but no optimizer has it: it stays as it is",
    "get gradients in every backward, but no optimizer has them: they stay as they are",
)
"""What happens to one parameter, and to several."""
UNTRAINED, REPLACED, MOVED = "GL319", "GL318", "GL314"


def judge(records: Records) -> Iterator[Told]:
    """Tell where the parameters were made, and which optimizer trains what is computed together with them."""
    optimizer = _trains_modules(records)
    if optimizer is None:
        return
    held = {token for one in records.steps.known for token in one.parameters}
    stepped = {token for one in records.steps.known if one.steps for token in one.parameters}
    by_place: dict[tuple[str, Site | None], dict[int, Leaf]] = {}
    for token, leaf in records.graphs.leaves.items():
        origin = records.parameters.origins.get(token)
        replaces = origin is not None and origin.after > 0
        together = sum(
            token in walk and (replaces or not walk.isdisjoint(stepped)) for walk in records.graphs.walks
        )
        if not leaf.is_parameter or token in held or together < OFTEN_ENOUGH:
            continue
        code = _code_of(origin)
        if code:
            place = origin.site if origin is not None else leaf.reader
            by_place.setdefault((code, place), {})[token] = leaf
    for (code, place), found in by_place.items():
        if place is not None:
            yield _told(records, optimizer, code, place, found)


def _trains_modules(records: Records) -> OptimizerRecord | None:
    """An optimizer that trains parameters of modules, and has made steps."""
    for one in records.steps.known:
        in_modules = any(token in records.parameters.origins for token in one.parameters)
        if one.steps >= OFTEN_ENOUGH and in_modules:
            return one
    return None


def _code_of(origin: Origin | None) -> str:
    if origin is None:
        return MOVED
    if not origin.training:
        return ""
    return REPLACED if origin.after else UNTRAINED


def _told(
    records: Records, optimizer: OptimizerRecord, code: str, place: Site, found: dict[int, Leaf]
) -> Told:
    first = next(iter(found.values()))
    shapes = {token: leaf.shape for token, leaf in found.items()}
    they = "they are" if len(found) > 1 else "it is"
    made = f"{they} made here" if code == UNTRAINED else f"{they} made here, after the first steps"
    steps = (
        step(place, "it is read here, and is no parameter of a module" if code == MOVED else made),
        step(optimizer.site, f"{optimizer.kind} is given others"),
        step(first.reader, f"{they} used here") if code != MOVED else None,
    )
    return Told(
        code,
        place.location,
        f"{names_of(records, shapes)} ({quoted(place, 'made here')}) {_WORDS[len(found) > 1]}",
        placed(*steps),
        evidence={"parameters": len(found), "optimizer steps": optimizer.steps},
    )
