"""Code frames in the manner of rustc: every place of the story in one frame, with what happens there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.findings import Applicability, Severity
from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import facts
from gradcheck_tool.report.frame import Label, frame
from gradcheck_tool.report.style import Paint, Style, painter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.findings import Finding
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
    """The steps of the story, numbered where there are several, and the place of the finding itself."""
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
        labels.append(Label(here, "", "^", style))
    return labels


def _frames(
    finding: Finding, labels: list[Label], width: int, context: ReportContext, paint: Paint
) -> Iterator[str]:
    """The finding's own file or cell first, then one frame for each other that the story touches."""
    here = (finding.location.filename, finding.location.cell)
    others = dict.fromkeys((label.location.filename, label.location.cell) for label in labels)
    for key in (here, *(other for other in others if other != here)):
        group = [label for label in labels if (label.location.filename, label.location.cell) == key]
        if not group:
            continue
        if key != here:
            yield paint(f"{' ' * width}::: ", "blue") + place(group[0].location, context)
        yield from frame(context.lines(*key), group, width, paint)


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
