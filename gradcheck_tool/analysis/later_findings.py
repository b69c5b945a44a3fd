"""What shows up once the errors that end a run are mended, without what only comes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import EngineError, PythonError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.findings import Finding, Location


def errors(events: Iterable[Event]) -> list[Site]:
    """Where PyTorch or Python raises, and nothing catches it."""
    return [event.site for event in events if isinstance(event, (EngineError, PythonError))]


def is_news(finding: Finding, found: Sequence[Finding], mended: Collection[Location]) -> bool:
    """Is a finding a mistake of its own?

    It is none where its story comes by a statement that was taken for mended, where the same rule has told a
    part of its story before, and where it is a part of what led to another finding.
    """
    story = {step.location for step in finding.trace}
    if finding.location in mended or not story.isdisjoint(mended):
        return False
    return not any(_is_part(finding, story, other) for other in found)


def _is_part(finding: Finding, story: set[Location], other: Finding) -> bool:
    """Is a finding a part of what another one has told?"""
    told = [step.location for step in other.trace]
    if finding.code == other.code:
        return finding.location == other.location or not story.isdisjoint(told)
    return any(_overlap(finding.location, place) for place in told)


def _overlap(one: Location, other: Location) -> bool:
    is_same_text = (one.filename, one.cell) == (other.filename, other.cell)
    return is_same_text and max(one.start, other.start) < min(one.end, other.end)
