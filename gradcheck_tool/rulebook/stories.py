"""The story of an event in the terms of a report: places in rows, memory and versions in small numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import TraceStep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.domain.events import Site, StoryStep
    from gradcheck_tool.domain.values import Ref, Value
    from gradcheck_tool.findings import Location


def numbered(story: Sequence[StoryStep], locate: Callable[[Site], Location]) -> tuple[TraceStep, ...]:
    """The steps as a report shows them.

    The model knows that two versions differ, not which numbers PyTorch would give them: they are counted from
    the first that the story names of the same memory.
    """
    storages: dict[Ref, int] = {}
    versions: dict[tuple[Ref, Value], int] = {}
    counts: dict[Ref, int] = {}
    steps = []
    for step in story:
        storage = version = None
        if step.storage is not None:
            storage = storages.setdefault(step.storage, len(storages) + 1)
        if step.storage is not None and step.version is not None:
            key = (step.storage, step.version)
            if key not in versions:
                versions[key] = counts.get(step.storage, 0)
                counts[step.storage] = versions[key] + 1
            version = versions[key]
        tensor = str(step.tensor) or None
        steps.append(TraceStep(locate(step.site), step.message, step.kind, tensor, storage, version))
    return tuple(steps)
