"""Code frames in the manner of rustc: every place of the story in one frame, with what happens there."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gradcheck_tool.findings import Applicability, Severity
from gradcheck_tool.report.concise import code, place
from gradcheck_tool.report.facts import facts
from gradcheck_tool.report.frame import NARROWEST, Label, frame
from gradcheck_tool.report.style import Paint, Style, columns, linked, painter
from gradcheck_tool.report.wrapping import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.report.context import ReportContext

# Before further lines of a message.
INDENT = "  "
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
    yield from _headline(finding, context, paint)
    labels = _labels(finding, style)
    shown = [label for label in labels if context.lines(label.location.filename, label.location.cell)]
    width = len(str(max((label.location.end.row for label in shown), default=1)))
    margin = " " * width
    yield from _where_it_is(finding, margin, context, paint)
    yield from _frames(finding, shown, width, context, paint)
    yield from _notes(finding, margin, context, paint)


def _headline(finding: Finding, context: ReportContext, paint: Paint) -> Iterator[str]:
    """The severity, the code and the message, whose further lines are indented."""
    kind = f"{finding.severity.value}[{finding.code}]"
    room = None if context.width is None else context.width - len(INDENT)
    first, *rest = wrapped(f"{kind}: {finding.message}", room, context.width)
    shown = paint(f"{finding.severity.value}[{code(finding, context)}]", STYLES[finding.severity])
    yield shown + paint(first.removeprefix(kind), "bold")
    for line in rest:
        yield INDENT + paint(line, "bold")


def _where_it_is(finding: Finding, margin: str, context: ReportContext, paint: Paint) -> Iterator[str]:
    at, name = place(finding.location, context), f"({finding.name})"
    arrow = f"{margin}--> "
    beside = context.width is None or columns(f"{arrow}{at} {name}") <= context.width
    yield (
        paint(arrow, "blue")
        + _opened(at, finding.location, context)
        + (paint(f" {name}", "dim") if beside else "")
    )
    if not beside:
        yield " " * len(arrow) + paint(name, "dim")


def _opened(text: str, location: Location, context: ReportContext) -> str:
    """A place that a terminal opens in an editor, where it can."""
    if not context.links or not location.filename.startswith("/"):
        return text
    from socket import gethostname
    from urllib.parse import quote

    row = "" if location.cell is not None else f"#{location.start.row}"
    name = quote(location.filename, errors="surrogateescape")
    return linked(text, f"file://{quote(gethostname())}{name}{row}")


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
            here = part[0].location
            yield paint(f"{' ' * width}::: ", "blue") + _opened(place(here, context), here, context)
        shown = key
        yield from frame(context.lines(*key), part, width, paint, context.width)


def _file(location: Location) -> tuple[str, int | None]:
    return location.filename, location.cell


def _notes(finding: Finding, margin: str, context: ReportContext, paint: Paint) -> Iterator[str]:
    notes = list(facts(finding))
    if finding.fix is not None:
        how = "--fix" if finding.fix.applicability is Applicability.SAFE else "--fix --unsafe-fixes"
        notes.append(("fix", f"{finding.fix.message} ({how})"))
    notes.append(("help", f"gradlint rule {finding.code}"))
    return (_note(margin, kind, text, context.width, paint) for kind, text in notes)


def _note(margin: str, kind: str, text: str, width: int | None, paint: Paint) -> str:
    indent = " " * (len(margin) + 5 + len(kind))
    room = None if width is None else max(NARROWEST, width - len(indent))
    lines = [part for line in text.rstrip().splitlines() or [""] for part in wrapped(line, room)]
    return f"{paint(f'{margin} = ', 'blue')}{paint(kind, 'bold')}: {f'{chr(10)}{indent}'.join(lines)}"
