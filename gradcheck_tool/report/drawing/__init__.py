"""A picture drawn with characters: source with numbered steps and arrows, and the timeline."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from gradcheck_tool.report.concise import code, place
from gradcheck_tool.report.drawing.glyphs import UNICODE, Glyphs
from gradcheck_tool.report.drawing.sheet import Sheet
from gradcheck_tool.report.drawing.timeline import Timeline
from gradcheck_tool.report.facts import facts
from gradcheck_tool.report.frame import printable
from gradcheck_tool.report.full import STYLES
from gradcheck_tool.report.style import columns, painter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.report.context import ReportContext
    from gradcheck_tool.report.picture.layout import Picture
    from gradcheck_tool.report.style import Paint

# Narrower than this nothing can be read, whatever the terminal says.
NARROWEST = 60
# What the timeline takes beside the source at least.
_BESIDE = 64
_SPACE = 3


def draw(picture: Picture, context: ReportContext, width: int, glyphs: Glyphs = UNICODE) -> str:
    """The drawing, in lines of at most `width` columns: the timeline beside the source where there is room.

    Args:
        picture: what to draw.
        context: names of files, and whether to colour.
        width: of the terminal.
        glyphs: the characters to draw with.
    """
    width = max(width, NARROWEST)
    paint = painter(context.color)
    source = [*Sheet(picture, context, glyphs, paint).lines(width)]
    lines = [*_heading(picture, context, width, paint), ""]
    narrow = max((columns(one.plain) for one in source), default=0)
    if narrow + _SPACE + _BESIDE <= width:
        beside = Timeline(picture, context, width - narrow - _SPACE, glyphs, paint).lines()
        for left, right in zip_longest(source, beside):
            text, plain = (left.text, left.plain) if left is not None else ("", "")
            lines.append(f"{text}{' ' * (narrow - columns(plain) + _SPACE)}{right or ''}")
    else:
        lines += [one.text for one in source]
        lines += ["", *Timeline(picture, context, width, glyphs, paint).lines()]
    lines += ["", *_notes(picture, width, paint)]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _heading(picture: Picture, context: ReportContext, width: int, paint: Paint) -> Iterator[str]:
    finding = picture.finding
    kind = f"{finding.severity.value}[{finding.code}]"
    first, *rest = textwrap.wrap(f"{kind}: {finding.message}", width, break_long_words=False)
    shown = f"{finding.severity.value}[{code(finding, context)}]"
    yield paint(shown, STYLES[finding.severity]) + paint(first.removeprefix(kind), "bold")
    yield from (paint(line, "bold") for line in rest)
    yield paint("--> ", "blue") + place(finding.location, context) + paint(f" ({finding.name})", "dim")


def _notes(picture: Picture, width: int, paint: Paint) -> Iterator[str]:
    notes = [*facts(picture.finding)]
    if picture.finding.fix is not None:
        notes.append(("fix", picture.finding.fix.message))
    notes.append(("help", f"gradlint rule {picture.finding.code}"))
    for label, text in notes:
        first, *rest = [
            line
            for part in printable(text, ends=True).splitlines() or [""]
            for line in textwrap.wrap(part, width - len(label) - 4, break_long_words=False) or [""]
        ]
        yield f"{paint('= ', 'blue')}{paint(label, 'bold')}: {first}"
        yield from (" " * (len(label) + 4) + line for line in rest)
