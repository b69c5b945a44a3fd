"""Gradients of a DistributedDataParallel that are applied unreduced, or reduced in `no_sync()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.sanitizer.judges import OFTEN_ENOUGH
from gradcheck_tool.sanitizer.judges.exception import placed, quoted, step
from gradcheck_tool.sanitizer.told import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.sanitizer.records import Records

UNREDUCED, ALL_THE_SAME = "GL820", "GL811"


def judge(records: Records) -> Iterator[Told]:
    """Tell which step applies gradients of one process, and which pass reduces in `no_sync`."""
    for site, count in records.reducing.steps.items():
        if count.wrong >= OFTEN_ENOUGH and count.wrong in (count.times, count.past):
            past = "the forward of this backward goes past DistributedDataParallel: it reduces nothing"
            local = "this backward of a forward in `no_sync()` reduces nothing"
            lost = (
                "this backward reduces nothing: the hooks of DistributedDataParallel are gone, as they are "
                "where parameters go to another type or device after it was made"
            )
            yield Told(
                UNREDUCED,
                site.location,
                f"{quoted(site, 'this step')} applies gradients of {count.kind} that no pass has reduced: "
                "each process trains a model of its own",
                placed(
                    step(count.before, past if count.past else lost if count.lost else local),
                    step(site, "this step applies what it leaves", "applied"),
                ),
                evidence={"steps": f"{count.wrong} of {count.times}"},
            )
    for site, count in records.reducing.passes.items():
        if count.wrong >= OFTEN_ENOUGH and count.wrong == count.times:
            yield Told(
                ALL_THE_SAME,
                site.location,
                f"{quoted(site, 'this backward')} stands in `no_sync()`, but the forward of {count.kind} "
                "does not: its gradients are reduced anyway",
                placed(step(site, "it reduces gradients", "changed")),
                evidence={"passes": f"{count.wrong} of {count.times}"},
            )
