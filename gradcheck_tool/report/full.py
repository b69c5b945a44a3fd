"""Code frames in the manner of rustc: every place of the story in one frame, with what happens there."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Applicability, Severity
from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import facts
from gradcheck_tool.report.frame import Label, frame
from gradcheck_tool.report.style import Paint, Style, painter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.report.context import ReportContext

STYLES: Mapping[Severity, Style] = {
    Severity.ERROR: "red",
    Severity.WARNING: "yellow",
    Severity.INFO: "cyan",
}


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report, one block a finding with an empty line after it."""
    paint = painter(context.color)
    return "".join(f"{line}\n" for finding in findings for line in (*_block(finding, context, paint), ""))


def _block(finding: Finding, context: ReportContext, paint: Paint) -> Iterator[str]:
    style = STYLES[finding.severity]
    yield paint(f"{finding.severity.value}[{finding.code}]", style) + paint(f": {finding.message}", "bold")
    labels = _labels(finding, style)
    shown = [label for label in labels if context.lines(label.location.filename, label.location.cell)]
    width = len(str(max((label.location.end.row for label in shown), default=1)))
    margin = " " * width
    at = place(finding.location, context)
    yield paint(f"{margin}--> ", "blue") + at + paint(f" ({finding.name})", "dim")
    yield from _frames(finding, shown, width, context, paint)
    yield from _notes(finding, margin, paint)


def _labels(finding: Finding, style: Style) -> list[Label]:
    """The steps of the story in its order, numbered where there are several, and the place of the finding."""
    here = finding.location
    labels = [
        Label(
            step.location,
            f"{number}: {step.message}" if len(finding.trace) > 1 else step.message,
            *(("^", style) if step.location == here else ("-", "blue")),
        )
        for number, step in enumerate(finding.trace, start=1)
    ]
    if all(step.location != here for step in finding.trace):
        labels.insert(_where(here, labels), Label(here, "", "^", style))
    return labels


def _where(here: Location, labels: Sequence[Label]) -> int:
    """Where the place of the finding goes among steps at other places: before those behind it in its file."""
    for index, label in enumerate(labels):
        one = label.location
        if (one.filename, one.cell) == (here.filename, here.cell) and one.start > here.start:
            return index
    return len(labels)


def _frames(
    finding: Finding, labels: list[Label], width: int, context: ReportContext, paint: Paint
) -> Iterator[str]:
    """A frame for each part of the story that stays in one file or cell, in the order of the story."""
    shown = _file(finding.location)
    for key, group in groupby(labels, lambda label: _file(label.location)):
        part = list(group)
        if key != shown:
            yield paint(f"{' ' * width}::: ", "blue") + place(part[0].location, context)
        shown = key
        yield from frame(context.lines(*key), part, width, paint)


def _file(location: Location) -> tuple[str, int | None]:
    return location.filename, location.cell


def _notes(finding: Finding, margin: str, paint: Paint) -> Iterator[str]:
    for label, text in facts(finding):
        yield _note(margin, label, text, paint)
    if finding.fix is not None:
        how = "--fix" if finding.fix.applicability is Applicability.SAFE else "--fix --unsafe-fixes"
        yield _note(margin, "fix", f"{finding.fix.message} ({how})", paint)
    yield _note(margin, "help", f"gradlint rule {finding.code}", paint)


def _note(margin: str, kind: str, text: str, paint: Paint) -> str:
    lines = text.rstrip().splitlines() or [""]
    indent = "\n" + " " * (len(margin) + 5 + len(kind))
    return f"{paint(f'{margin} = ', 'blue')}{paint(kind, 'bold')}: {indent.join(lines)}"
