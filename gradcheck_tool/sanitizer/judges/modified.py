"""A saved tensor was changed in place before the pass that needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges.exception import Raised, calls_of, quoted, step
from gradcheck_tool.sanitizer.saved import NEED, Need

if TYPE_CHECKING:
    from gradcheck_tool.findings import TraceStep
    from gradcheck_tool.sanitizer.sites import Site
    from gradcheck_tool.sanitizer.storages import Write
    from gradcheck_tool.sanitizer.told import Told

# The story is about the memory of one tensor.
ONLY = 1

INPLACE, STEP, UPDATE = "GL201", "GL202", "GL203"


def judge(raised: Raised) -> Told | None:
    """Tell who saved the tensor, every write since, and the pass that needs it."""
    need: Need | None = getattr(raised.error, NEED, None)
    if need is None:
        return raised.told(INPLACE, "a saved tensor was changed in place before the backward that needs it")
    made = need.saved.site
    writes = writes_since(need)
    last = writes[-1] if writes else None
    what = "its result" if need.saved.producer is not None else "a tensor"
    changed = (
        quoted(last.site, f"`{last.operation}`") if last is not None else "a write that bypasses PyTorch"
    )
    return raised.told(
        code_of(need, last),
        f"{quoted(made, need.node)} saved {what} for its derivative, but {changed} changed it before "
        f"{quoted(raised.site, 'this backward')} needed it",
        *story(need, writes, raised.site, are_counted=True),
        *(() if last is None or last.site is None else calls_of(raised.site, last.site)),
        step(raised.site, f"`{need.node}` needs it here: PyTorch raises", "raised"),
    )


def writes_since(need: Need) -> list[Write]:
    """The writes to a saved tensor's memory since it was saved."""
    record = need.saved.record
    return record.since(need.saved.since) if record is not None else []


def story(
    need: Need, writes: list[Write], reader: Site | None, *, are_counted: bool = False
) -> list[TraceStep | None]:
    """Who saved, and the writes since then: each place once; `reader` needs what was saved.

    `are_counted`: each write has made another version, as PyTorch counts them.
    """
    saved = need.saved
    made = saved.site
    what = "its result" if saved.producer is not None else "this tensor"
    steps = [
        *(() if made is None else calls_of(made, reader)),
        step(
            made,
            f"`{need.node}` saves {what} here, in version {saved.version}",
            "saved",
            ONLY,
            saved.version,
        ),
    ]
    by_place = {write.site: (count, write) for count, write in enumerate(writes, 1) if write.site is not None}
    for site, (count, write) in by_place.items():
        version = saved.version + count if are_counted else None
        how = f", in a step of {write.optimizer}" if write.optimizer else ""
        steps += [
            *calls_of(site, made or reader),
            step(site, f"`{write.operation}` changes its memory here{how}", "changed", ONLY, version),
        ]
    return steps


def code_of(need: Need, last: Write | None) -> str:
    """The rule that says the same of code that is not run."""
    if last is None:
        return INPLACE
    if last.optimizer:
        return STEP
    tensor = need.saved.tensor
    is_update = not last.tracked and tensor.is_leaf and tensor.requires_grad
    return UPDATE if is_update else INPLACE
