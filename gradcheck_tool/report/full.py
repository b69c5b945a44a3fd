"""Code frames in the manner of rustc: every place of the story in one frame, with what happens there."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from gradcheck_tool.findings import Applicability, Severity
from gradcheck_tool.report.concise import place
from gradcheck_tool.report.facts import facts
from gradcheck_tool.report.frame import Label, frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Finding
    from gradcheck_tool.report.context import ReportContext

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}


def render(findings: Sequence[Finding], context: ReportContext) -> str:
    """Render the report, one block a finding with an empty line after it."""
    console = Console(
        file=io.StringIO(),
        force_terminal=context.color,
        color_system="standard" if context.color else None,
        highlight=False,
        soft_wrap=True,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        for finding in findings:
            for line in _block(finding, context):
                console.print(line)
            console.print()
    return captured.get()


def _block(finding: Finding, context: ReportContext) -> Iterator[Text]:
    style = STYLES[finding.severity]
    head = Text.assemble(
        (f"{finding.severity.value}[{finding.code}]", style), (f": {finding.message}", "bold")
    )
    yield head
    labels = _labels(finding, style)
    shown = [label for label in labels if context.lines(label.location.filename, label.location.cell)]
    width = len(str(max((label.location.end.row for label in shown), default=1)))
    margin = " " * width
    yield Text.assemble(
        (f"{margin}--> ", "blue"),
        place(finding.location, context),
        (f" ({finding.name})", "dim"),
    )
    yield from _frames(finding, shown, width, context)
    yield from _notes(finding, margin)


def _labels(finding: Finding, style: str) -> list[Label]:
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


def _frames(finding: Finding, labels: list[Label], width: int, context: ReportContext) -> Iterator[Text]:
    """The finding's own file or cell first, then one frame for each other that the story touches."""
    here = (finding.location.filename, finding.location.cell)
    others = dict.fromkeys((label.location.filename, label.location.cell) for label in labels)
    for key in (here, *(other for other in others if other != here)):
        group = [label for label in labels if (label.location.filename, label.location.cell) == key]
        if not group:
            continue
        if key != here:
            yield Text.assemble((f"{' ' * width}::: ", "blue"), place(group[0].location, context))
        yield from frame(context.lines(*key), group, width)


def _notes(finding: Finding, margin: str) -> Iterator[Text]:
    for label, text in facts(finding):
        yield _note(margin, label, text)
    if finding.fix is not None:
        how = "--fix" if finding.fix.applicability is Applicability.SAFE else "--fix --unsafe-fixes"
        yield _note(margin, "fix", f"{finding.fix.message} ({how})")
    yield _note(margin, "help", f"gradlint rule {finding.code}")


def _note(margin: str, kind: str, text: str) -> Text:
    lines = text.rstrip().splitlines() or [""]
    indent = "\n" + " " * (len(margin) + 5 + len(kind))
    return Text.assemble((f"{margin} = ", "blue"), (kind, "bold"), ": ", indent.join(lines))
