"""Pictures on a terminal."""

import re

import pytest

from gradcheck_tool.findings import Finding, Location, Position, Severity, TraceStep
from gradcheck_tool.report.context import ReportContext
from gradcheck_tool.report.drawing import draw
from gradcheck_tool.report.drawing.glyphs import ASCII
from gradcheck_tool.report.picture.layout import picture
from gradcheck_tool.report.style import columns

PROGRAM = """\
import torch

x = torch.ones(3, requires_grad=True)
y = x.exp()
y.mul_(2)
y.sum().backward()
"""


def step(row, text, message, kind, version=None):
    column = PROGRAM.split("\n")[row - 1].index(text) + 1
    place = Location("/r/a.py", Position(row, column), Position(row, column + len(text)))
    storage = None if version is None else 1
    return TraceStep(place, message, kind, "y" if storage else None, storage, version)


TRACE = (
    step(4, "x.exp()", "`x.exp()` saves its result here", "saved", 0),
    step(5, "y.mul_(2)", "`y.mul_(2)` changes it here", "changed", 1),
    step(6, "y.sum().backward()", "PyTorch raises here", "raised"),
)
FINDING = Finding(
    "GL201",
    "inplace-on-saved",
    Severity.ERROR,
    "`x.exp()` saved its result, but `y.mul_(2)` changed it before `y.sum()` was differentiated",
    TRACE[-1].location,
    predicts="one of the variables needed for gradient computation has been modified by an inplace operation",
    trace=TRACE,
)


def drawing(width, glyphs=None, finding=FINDING, text=PROGRAM, color=False):
    from pathlib import Path

    context = ReportContext(Path("/r"), lambda *_: text.split("\n"), color=color)
    drawn = picture(finding, context.lines)
    return draw(drawn, context, width) if glyphs is None else draw(drawn, context, width, glyphs)


def test_it_looks_as_it_did(snapshot):
    assert drawing(80) == snapshot


def test_the_timeline_stands_beside_the_source_where_there_is_room(snapshot):
    assert drawing(140) == snapshot


def test_it_can_be_drawn_in_ascii():
    assert drawing(80, ASCII).isascii()
    assert not drawing(80).isascii()


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_no_line_is_wider_than_the_terminal(width):
    long = PROGRAM.replace("y.mul_(2)", f"y.mul_(2)  # {'word ' * 60}")
    assert max(columns(line) for line in drawing(width, text=long).splitlines()) <= width


def test_a_mark_far_to_the_right_stays_in_sight():
    indented = PROGRAM.replace("y.mul_(2)", f"{' ' * 200}y.mul_(2)")
    place = Location("/r/a.py", Position(5, 201), Position(5, 210))
    trace = (TRACE[0], TraceStep(place, "changes", "changed", "y", 1, 1), TRACE[2])
    lines = drawing(
        80, finding=Finding("GL201", "n", Severity.ERROR, "m", TRACE[-1].location, trace=trace), text=indented
    )
    row = next(number for number, line in enumerate(lines.splitlines()) if "y.mul_(2)" in line)
    source, marks = lines.splitlines()[row : row + 2]
    assert source.index("y.mul_(2)") == marks.index("─" * len("y.mul_(2)"))


def test_colours_change_no_word():
    colored = drawing(80, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == drawing(80)


def test_nothing_in_the_source_controls_the_terminal():
    assert "\x1b" not in drawing(80, text=PROGRAM.replace("(2)", "(2)\x1b[2J"))
