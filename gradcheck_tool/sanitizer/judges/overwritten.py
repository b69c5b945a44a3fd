"""A saved tensor was changed behind its version counter: the pass goes on with wrong values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import TraceStep
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.judges.modified import STEP, story, writes_since
from gradcheck_tool.sanitizer.storages import Area
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.saved import Need
    from gradcheck_tool.sanitizer.storages import Write

UNVERSIONED = "GL205"


def judge(need: Need) -> Told | None:
    """Tell who saved the tensor and who changed its memory."""
    record = need.saved.record
    if record is not None and record.is_left_by(need.saved.tensor):
        return _by_replacement(need) if record.differs_from(need.saved.tensor) else None
    since = writes_since(need)
    if not since:
        return _by_array(need)
    if _is_as_before(need, since[0]):
        return None
    area = Area.of(need.saved.tensor)
    by_program = [write for write in since if write.site is not None and write.area.overlaps(area)]
    if not by_program:
        return None
    site = by_program[-1].site
    assert site is not None
    made = need.saved.log.site(need.saved.number)
    during = need.during.site if need.during is not None else None
    steps = list(placed(*story(need, by_program, during)))
    if during is not None:
        steps.append(TraceStep(during.location, f"`{need.node}` computes with the changed values here"))
    return Told(
        STEP if by_program[-1].optimizer else UNVERSIONED,
        site.location,
        f"{quoted(site, 'this write')} changes what {quoted(made, need.node)} saved for its derivative, and "
        f"PyTorch does not notice: {quoted(during, 'the backward')} computes with the changed values",
        tuple(steps),
    )


def _by_replacement(need: Need) -> Told | None:
    """The tensor has other memory than it had."""
    saved = need.saved
    during = need.during.site if need.during is not None else None
    if during is None:
        return None
    made = saved.log.site(saved.number)
    return Told(
        UNVERSIONED,
        during.location,
        f"what {quoted(made, need.node)} saved for its derivative was given other memory (`.data = ...`), "
        f"and PyTorch does not notice: {quoted(during, 'the backward')} computes with other values",
        placed(
            step(made, f"`{need.node}` saves it here"),
            step(during, f"`{need.node}` computes with other values here: `.data` was set in between"),
        ),
    )


def _by_array(need: Need) -> Told | None:
    """No operation has written, but the memory is another one, and NumPy has it, too."""
    shared, saved = need.saved.shared, need.saved
    during = need.during.site if need.during is not None else None
    if shared is None or shared.site is None or during is None:
        return None
    made = saved.log.site(saved.number)
    return Told(
        UNVERSIONED,
        during.location,
        f"NumPy has changed what {quoted(made, need.node)} saved for its derivative, and PyTorch does not "
        f"notice: {quoted(during, 'the backward')} computes with the changed values",
        placed(
            step(shared.site, "from here on an array of NumPy has the same memory"),
            step(made, f"`{need.node}` saves it here"),
            step(during, f"`{need.node}` computes with other values here: the array was written in between"),
        ),
    )


def _is_as_before(need: Need, first: Write) -> bool:
    """Has the memory what it had when the tensor was saved, or cannot that be told?"""
    record = need.saved.record
    return record is None or first.before is None or record.checksum() == first.before
