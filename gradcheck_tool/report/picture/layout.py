"""What a picture shows and where: the rows of source, the steps with their labels, arrows, and lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gradcheck_tool.report.picture.arms import Texts
from gradcheck_tool.report.picture.arrows import arrows
from gradcheck_tool.report.picture.lanes import lanes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.findings import Finding, Location, TraceStep
    from gradcheck_tool.report.context import Lines
    from gradcheck_tool.report.picture.arrows import Arrow
    from gradcheck_tool.report.picture.lanes import Lane


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the story.

    `is_own`: the finding's own story tells it, too. Its label is its number there, as in reports. The others
    have letters after the number of the step before: `1a`, and `a` before the first.
    """

    label: str
    step: TraceStep
    is_own: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A span of a row, in characters from 0, and the labels of the steps that are about it."""

    start: int
    end: int
    labels: tuple[str, ...]
    is_finding: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the sheet: a line of `source` with its marks, a `gap`, or the name of a `file` to follow."""

    kind: Literal["source", "gap", "file"]
    location: Location
    number: int = 0
    text: str = ""
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """All that a renderer needs."""

    finding: Finding
    steps: tuple[Step, ...]
    rows: tuple[Row, ...]
    arrows: tuple[Arrow, ...]
    lanes: tuple[Lane, ...]


def picture(finding: Finding, lines: Lines, steps: Sequence[TraceStep] | None = None) -> Picture:
    """Lay out the picture of a finding.

    Args:
        finding: what is drawn.
        lines: source text of files and cells.
        steps: the story with what else happens on the way; the finding's own if not given.
    """
    texts = Texts(lines)
    told = texts.with_branches(finding.trace if steps is None else steps)
    labelled = tuple(_labelled(told, finding.trace))
    rows = _sheet(finding, labelled, lines, texts)
    places = {(_file(row.location), row.number): index for index, row in enumerate(rows) if row.number}
    joined = [places.get((_file(one.location), one.location.start.row)) for one in told]
    return Picture(
        finding,
        labelled,
        tuple(rows),
        tuple(arrows([row for row in joined if row is not None])),
        tuple(lanes(told, lambda place: _text(place, lines))),
    )


def _labelled(told: Sequence[TraceStep], own: Sequence[TraceStep]) -> Iterator[Step]:
    numbers: dict[tuple[Location, str], list[int]] = {}
    for number, step in enumerate(own, start=1):
        numbers.setdefault((step.location, step.message), []).append(number)
    last, letters = "", 0
    for step in told:
        if left := numbers.get((step.location, step.message)):
            last, letters = str(left.pop(0)), 0
            yield Step(last, step, is_own=True)
        else:
            yield Step(last + _letters(letters), step, is_own=False)
            letters += 1


def _letters(count: int) -> str:
    """`a` for 0, `z` for 25, then `aa`."""
    more, letter = divmod(count, 26)
    return (_letters(more - 1) if more else "") + chr(ord("a") + letter)


def _sheet(finding: Finding, steps: Sequence[Step], lines: Lines, texts: Texts) -> list[Row]:
    """The source around the steps, file by file in the order in which the story comes to them."""
    places = [*(one.step.location for one in steps), finding.location]
    files = list(dict.fromkeys(_file(place) for place in places))
    rows: list[Row] = []
    for file in files:
        text = lines(*file)
        here = [place for place in places if _file(place) == file and place.start.row <= len(text)]
        if not here:
            continue
        if len(files) > 1:
            rows.append(Row("file", here[0]))
        wanted = {place.start.row for place in here}.union(*(texts.headings(place) for place in here))
        rows += _rows(sorted(wanted), text, here[0], steps, finding)
    return rows


def _rows(
    wanted: Sequence[int], text: Sequence[str], near: Location, steps: Sequence[Step], finding: Finding
) -> list[Row]:
    """The wanted lines of a file, with a single one between two of them, and gaps where more are left out."""
    rows: list[Row] = []
    previous = None
    for number in wanted:
        if previous is not None and number - previous == 2:
            rows.append(_row(number - 1, text, near, steps, finding))
        elif previous is not None and number - previous > 2:
            rows.append(Row("gap", near))
        rows.append(_row(number, text, near, steps, finding))
        previous = number
    return rows


def _row(number: int, text: Sequence[str], near: Location, steps: Sequence[Step], finding: Finding) -> Row:
    spans: dict[Location, list[str]] = {}
    for one in steps:
        if _file(one.step.location) == _file(near) and one.step.location.start.row == number:
            spans.setdefault(one.step.location, []).append(one.label)
    if _file(finding.location) == _file(near) and finding.location.start.row == number:
        spans.setdefault(finding.location, [])
    line = text[number - 1]
    marks = [
        Mark(
            min(place.start.column - 1, len(line)),
            place.end.column - 1 if place.end.row == number else len(line.rstrip()),
            tuple(labels),
            place == finding.location,
        )
        for place, labels in spans.items()
    ]
    return Row("source", near, number, line, tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end))))


def _file(location: Location) -> tuple[str, int | None]:
    return location.filename, location.cell


def _text(place: Location, lines: Lines) -> str:
    """The source text of a place, in one line."""
    text = lines(place.filename, place.cell)[place.start.row - 1 : place.end.row]
    if not text:
        return ""
    whole = [*text]
    if place.end.row - place.start.row < len(whole):
        whole[-1] = whole[-1][: place.end.column - 1]
    whole[0] = whole[0][place.start.column - 1 :]
    return " ".join(" ".join(whole).split())
