"""A picture as HTML: source in rows of one height, arrows in SVG beside them, and the timeline as a table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from gradcheck_tool.report.concise import place
from gradcheck_tool.report.frame import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.picture.arrows import Arrow
    from gradcheck_tool.report.picture.lanes import Lane
    from gradcheck_tool.report.picture.layout import Mark, Picture, Row, Step

# Pixels: the height of a row, how far the columns of arrows are apart, and what a head takes.
_ROW = 24
_COLUMN = 11
_HEAD = 12


def drawn(picture: Picture, context: ReportContext, name: str) -> Iterator[str]:
    """The picture in lines of HTML; `name` makes the anchors of its steps its own."""
    yield '<div class="picture">'
    yield f'<div class="sheet" style="--row:{_ROW}px" role="group" aria-label="Source" tabindex="0">'
    yield f"{_arrows(picture)}<ol>"
    for row in picture.rows:
        yield _row(row, context, name)
    yield "</ol></div>"
    if picture.steps:
        yield '<div class="scroll" role="group" aria-label="Timeline" tabindex="0"><table class="timeline">'
        yield _heads(picture)
        for index, step in enumerate(picture.steps):
            yield _step(index, step, picture, context, name)
        yield "</tbody></table></div>"
    yield "</div>"


def _row(row: Row, context: ReportContext, name: str) -> str:
    if row.kind == "file":
        return f'<li class="file">{escape(place(row.location, context).rsplit(":", 2)[0])}</li>'
    if row.kind == "gap":
        return '<li class="gap" aria-label="rows left out">&#8942;</li>'
    return f'<li><span class="row">{row.number}</span>{_marked(row, name)}</li>'


def _marked(row: Row, name: str) -> str:
    """The line with its marked spans, which may stand within each other."""
    return _spans(row.text, 0, len(row.text), row.marks, name)


def _spans(text: str, start: int, end: int, marks: Sequence[Mark], name: str) -> str:
    """A part of a line; `marks` are those in it, an outer one before those that it has in itself."""
    out: list[str] = []
    while marks:
        first, *rest = marks
        begins, ends = max(first.start, start), min(first.end, end)
        within = [mark for mark in rest if mark.start < ends]
        marks = rest[len(within) :]
        kind = " class=finding" if first.is_finding else ""
        out.append(escape(printable(text[start:begins])))
        out.append(f"<mark{kind}>{_spans(text, begins, ends, within, name)}</mark>{_labels(first, name)}")
        start = ends
    return "".join(out) + escape(printable(text[start:end]))


def _labels(mark: Mark, name: str) -> str:
    kind = "at finding" if mark.is_finding else "at"
    return "".join(
        f'<span class="{kind}"><a href="#{name}-{label}">{label}</a></span>' for label in mark.labels
    )


def _arrows(picture: Picture) -> str:
    """The arrows to the left of the rows, from the innermost column outwards."""
    if not picture.arrows:
        return ""
    width = _COLUMN * (max(arrow.column for arrow in picture.arrows) + 1) + _HEAD
    height = _ROW * len(picture.rows)
    shapes = "".join(_arrow(arrow, width) for arrow in picture.arrows)
    told = "arrows from step to step"
    return f'<svg role="img" aria-label="{told}" width="{width}" height="{height}">{shapes}</svg>'


def _arrow(arrow: Arrow, width: int) -> str:
    # One that begins in a row leaves it below the head of one that ends there.
    x = width - _HEAD - _COLUMN * arrow.column - 3
    start, end = _ROW * arrow.start + _ROW // 2 + 4, _ROW * arrow.end + _ROW // 2 - 2
    turn = 4 if end > start else -4
    out = f"M{width - 3} {start}H{x + 4}Q{x} {start} {x} {start + turn}"
    back = f"V{end - turn}Q{x} {end} {x + 4} {end}H{width - 5}"
    head = f"{width - 7},{end - 4} {width},{end} {width - 7},{end + 4}"
    return f'<path d="{out}{back}"/><polygon points="{head}"/>'


def _heads(picture: Picture) -> str:
    lanes = "".join(f"<th scope=col>{worded(lane.title)}</th>" for lane in picture.lanes)
    words = "<th scope=col>Step</th><th scope=col class=what>What happens</th>"
    return f"<thead><tr>{words}{lanes}</tr></thead><tbody>"


def _step(index: int, one: Step, picture: Picture, context: ReportContext, name: str) -> str:
    location = one.step.location
    badge = "at finding" if location == picture.finding.location else "at"
    kind = "" if one.is_own else " class=context"
    is_near = (location.filename, location.cell) == (
        picture.finding.location.filename,
        picture.finding.location.cell,
    )
    where = f"row {location.start.row}" if is_near else escape(place(location, context))
    lanes = "".join(_lane(lane, index) for lane in picture.lanes)
    return (
        f'<tr id="{name}-{one.label}"{kind}><td><span class="{badge}">{one.label}</span></td>'
        f'<td class="what">{worded(one.step.message)}<br><span class="place">{where}</span></td>{lanes}</tr>'
    )


def _lane(lane: Lane, index: int) -> str:
    there = [n for n, cell in enumerate(lane.cells) if cell is not None]
    cell = lane.cells[index]
    line = ""
    if len(there) > 1 and there[0] <= index <= there[-1]:
        line = " begins" if index == there[0] else " ends" if index == there[-1] else " through"
    if cell is None:
        return f'<td class="lane{line}"></td>'
    return f'<td class="lane{line} cell {cell.look}">{escape(cell.text)}</td>'


def worded(text: str) -> str:
    """A text in which what stands between backquotes is code."""
    parts = printable(text, ends=True).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return "".join(f"<code>{escape(part)}</code>" if n % 2 else escape(part) for n, part in enumerate(parts))
