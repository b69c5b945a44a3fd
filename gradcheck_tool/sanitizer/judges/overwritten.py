"""A saved tensor was changed behind its version counter: the pass goes on with wrong values."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import calls_of, placed, quoted, step
from gradcheck_tool.sanitizer.judges.modified import STEP, story, writes_since
from gradcheck_tool.sanitizer.judges.starved import names_of
from gradcheck_tool.sanitizer.storages import Area
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from gradcheck_tool.findings import Location, TraceStep
    from gradcheck_tool.sanitizer.records import Records
    from gradcheck_tool.sanitizer.repeating import Wrong
    from gradcheck_tool.sanitizer.saved import Need
    from gradcheck_tool.sanitizer.sites import Site

UNVERSIONED = "GL205"
_TIMES = 10
"""Errors from so many times the norm on are told as that."""


def judge(need: Need, records: Records) -> None:
    """Tell who saved the tensor and who changed it, unless the gradients are what they would be."""
    told = _told(need)
    if told is None:
        return
    was = need.was()
    if was is None or need.during is None:
        records.told.add(sized(told, "there is no room to keep the saved values", records))
    else:
        records.repeating.meets(
            need.saved.tensor, was, told.key, lambda wrong: records.told.add(sized(told, wrong, records))
        )


def sized(told: Told, wrong: list[Wrong] | str, records: Records) -> Told:
    """With the gradients that are wrong, and by how much, or with the reason why that is not known."""
    if isinstance(wrong, str):
        unknown = f"not known, as {wrong}"
        return replace(
            told,
            message=f"{told.message}; by how much gradients are wrong is {unknown}",
            evidence={**told.evidence, "error": unknown},
        )
    of = names_of(records, {one.token: one.shape for one in wrong})
    several = len(wrong) > 1
    size = _size([one.by for one in wrong])
    return replace(
        told,
        message=f"{told.message}, and the {'gradients' if several else 'gradient'} of {of} "
        f"{'are' if several else 'is'} {size}",
        evidence={**told.evidence, "gradients": len(wrong), "error": size},
    )


def _size(by: list[float]) -> str:
    """How wrong gradients are."""
    most = max(by)
    if any(math.isnan(one) for one in by):
        return "not a number"
    if math.isinf(most):
        return "not zero, as it would be"
    size = f"{most:.3g} times its norm" if most >= _TIMES else f"{100 * most:.3g}% of its norm"
    return f"wrong by {'up to ' if len(by) > 1 else ''}{size}"


def _told(need: Need) -> Told | None:
    record = need.saved.record
    if record is not None and record.is_left_by(need.saved.tensor):
        return _by_data(need)
    if record is not None and record.total != need.saved.since:
        return _by_writes(need)
    return _by_array(need)


def _by_writes(need: Need) -> Told | None:
    """Operations have written to the memory."""
    saved, record = need.saved, need.saved.record
    before = record.before(saved.since) if record is not None else None
    if record is None or before is None or record.holds(before):
        return None
    area = Area.of(saved.tensor)
    by_program = [
        write for write in writes_since(need) if write.site is not None and write.area.overlaps(area)
    ]
    site = by_program[-1].site if by_program else None
    if site is None:
        return None
    code = STEP if by_program[-1].optimizer else UNVERSIONED
    steps = story(need, by_program, _backward(need))
    return _changed(need, code, site.location, f"{quoted(site, 'this write')} changes", *steps)


def _by_data(need: Need) -> Told | None:
    """The tensor was given other memory."""
    site = need.left.site if need.left is not None else None
    if site is None:
        return None
    is_assignment = site.text.endswith(".data")
    return _changed(
        need,
        UNVERSIONED,
        site.location,
        f"{'setting ' * is_assignment}{quoted(site, 'this')} gives other memory to",
        *story(need, [], None),
        *calls_of(site, _backward(need)),
        step(site, "it is given other memory here", "changed"),
    )


def _by_array(need: Need) -> Told | None:
    """No operation has written, but the memory is another one, and NumPy has it, too."""
    shared, during = need.saved.shared, _backward(need)
    if shared is None or shared.site is None or during is None:
        return None
    return _changed(
        need,
        UNVERSIONED,
        during.location,
        "NumPy has changed",
        step(shared.site, "from here on an array of NumPy has the same memory", "alias"),
        *story(need, [], None),
    )


def _changed(need: Need, code: str, place: Location, what: str, *steps: TraceStep | None) -> Told:
    made, during = need.saved.site, _backward(need)
    return Told(
        code,
        place,
        f"{what} what {quoted(made, need.node)} saved for its derivative, and PyTorch does not notice: "
        f"{quoted(during, 'the backward')} computes with the changed values",
        placed(*steps, step(during, f"`{need.node}` computes with the changed values here", "backward")),
    )


def _backward(need: Need) -> Site | None:
    return None if need.during is None else need.during.site
