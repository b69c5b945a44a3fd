"""What shows up once the errors that end a run are mended, without what only comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import EngineError, PythonError, SavedTensorModified

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.findings import Finding, Location


def errors(events: Iterable[Event]) -> list[Site]:
    """Where PyTorch or Python raises, and nothing catches it."""
    return [event.site for event in events if isinstance(event, (EngineError, PythonError))]


def staying(events: Iterable[Event]) -> set[int]:
    """The passes that raise because of a write elsewhere: once that is mended, they run as they stand."""
    return {id(event.site.node) for event in events if isinstance(event, SavedTensorModified)}


def is_news(
    finding: Finding, found: Sequence[Finding], mended: Collection[Location], stays: Collection[Location]
) -> bool:
    """Is a finding a mistake of its own?

    It is none where its story comes by a statement that is taken for mended and does not stay as it is, where
    the same rule has told a part of its story before, and where it is a part of what led to another one.
    """
    story = {step.location for step in finding.trace}
    changed = set(mended).difference(stays)
    if finding.location in changed or not story.isdisjoint(changed):
        return False
    same = finding.location in stays
    return not any(
        _is_part(finding, story, other) for other in found if not same or other.code == finding.code
    )


def _is_part(finding: Finding, story: set[Location], other: Finding) -> bool:
    """Is a finding a part of what another one has told?"""
    told = [step.location for step in other.trace]
    if finding.code == other.code:
        return finding.location == other.location or not story.isdisjoint(told)
    return any(_overlap(finding.location, place) for place in told)


def _overlap(one: Location, other: Location) -> bool:
    is_same_text = (one.filename, one.cell) == (other.filename, other.cell)
    return is_same_text and max(one.start, other.start) < min(one.end, other.end)
