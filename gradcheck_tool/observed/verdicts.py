"""What a run says of a finding of `check`.

*Confirmed*: the run shows the same mistake, or PyTorch raised there what is predicted.

*Not reached*: the story did not come about: a line of it did not run, or not in this order.

*Contradicted*: PyTorch is predicted to raise in a backward, the story came about to its end, and after it a
backward went well that needed what a line of the story had saved. Lines stand for what they do: that it was
done to the same tensors is taken from the finding.

*Open*: it ran, and nothing was seen. That says little of what raises nothing; and what PyTorch refuses on the
spot depends on values that lines do not show, such as that of `set_grad_enabled(flag)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.predictions import alternatives, is_said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradcheck_tool.findings import Finding, InRun, Location
    from gradcheck_tool.observed.run import ObservedProcess, ObservedRun

# What PyTorch notices in a pass, of what was done before: the texts that it raises.
_IN_A_PASS = ("modified by an inplace operation", "through the graph a second time")


def judged(findings: Iterable[Finding], run: ObservedRun, effects: Mapping[str, str]) -> list[Finding]:
    """The findings with what the run says of them; those in files that have changed since are left alone.

    `effects` has for each code what its rule predicts: `raises`, `silent` or `warns`.
    """
    unchanged = run.unchanged
    started = set(run.digests)
    found = []
    for finding in findings:
        files = {finding.location.filename, *(step.location.filename for step in finding.trace)}
        is_known = finding.location.cell is None and files & started <= unchanged
        found.append(replace(finding, in_run=_verdict(finding, run, effects)) if is_known else finding)
    return found


def _verdict(finding: Finding, run: ObservedRun, effects: Mapping[str, str]) -> InRun:
    if any(_is_same(finding, seen) for seen in run.findings):
        return "confirmed"
    if effects.get(finding.code) == "raises" and any(_raised(finding, one) for one in run.processes):
        return "confirmed"
    ends = [(process, end) for process in run.processes if (end := _story_ends(finding, process)) is not None]
    if not ends:
        return "not reached"
    if effects.get(finding.code) == "raises" and any(_went_well(finding, *one) for one in ends):
        return "contradicted"
    return "open"


def _is_same(finding: Finding, seen: Mapping[str, Any]) -> bool:
    """Does a finding of the run tell of the same mistake? It may name another end of the story."""
    if finding.code != seen["code"]:
        return False
    told = {(seen["filename"], seen["location"]["row"])}
    told |= {(step["filename"], step["location"]["row"]) for step in seen["trace"]}
    return any((place.filename, row) in told for place in _places(finding) for row in _rows(place))


def _raised(finding: Finding, process: ObservedProcess) -> bool:
    """Did PyTorch raise what is predicted, whatever became of the exception?"""
    texts = process.raised.get(finding.location.filename, {})
    return any(
        is_said(part.split("[")[0], text)
        for row in _rows(finding.location)
        for text in texts.get(row, ())
        for part in alternatives(finding.predicts)
    )


def _story_ends(finding: Finding, process: ObservedProcess) -> int | None:
    """When the last step of the story began, the first time that all steps ran in their order."""
    steps = [step.location for step in finding.trace]
    if not steps or steps[-1] != finding.location:
        steps.append(finding.location)
    at = -1
    before: Location | None = None
    for place in steps:
        # Parts of one line run without the line beginning anew.
        least = at if before is not None and _on_one_line(before, place) else at + 1
        times = [time for row in _rows(place) for time in process.lines.get(place.filename, {}).get(row, ())]
        at = min((time for time in times if time >= least), default=-1)
        if at < 0:
            return None
        before = place
    return at


def _went_well(finding: Finding, process: ObservedProcess, end: int) -> bool:
    """Did a backward do what PyTorch is predicted to refuse?"""
    failed = process.raised.get(finding.location.filename, {})
    if any(row in failed for row in _rows(finding.location)):
        return False
    if not any(text in (finding.predicts or "") for text in _IN_A_PASS):
        return False
    return any(
        time > end
        for place in _places(finding)
        for row in _rows(place)
        for time in process.needed.get(place.filename, {}).get(row, ())
    )


def _places(finding: Finding) -> Sequence[Location]:
    return [finding.location, *(step.location for step in finding.trace)]


def _rows(place: Location) -> range:
    return range(place.start.row, place.end.row + 1)


def _on_one_line(one: Location, other: Location) -> bool:
    return one != other and one.filename == other.filename and one.start.row == other.start.row
