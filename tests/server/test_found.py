"""What is shown between a quick check and the whole one."""

from pathlib import Path

import pytest

from gradcheck_tool.findings import Applicability, Edit, Finding, Fix, Location, Position, Severity, TraceStep
from gradcheck_tool.server.documents import Part, Program
from gradcheck_tool.server.found import Found
from gradcheck_tool.server.tasks import Answer

PATH = Path("/somewhere/a.py")
TEXT = "one\ntwo\nthree\nfour\nfive\n"


def program(*texts, uris=()):
    uris = uris or [f"cell-{number}" for number in range(len(texts))]
    parts = tuple(Part(uri, 1, text) for uri, text in zip(uris, texts, strict=True))
    return Program("file", PATH, PATH.parent, parts, is_notebook=len(texts) > 1)


def place(row, cell=None, filename=str(PATH)):
    return Location(filename, Position(row, 1), Position(row, 3), cell)


def finding(row, code="GL201", steps=(), cell=None, fixed=None):
    edits = (Edit("", Position(fixed, 1), Position(fixed, 2)),) if fixed else ()
    return Finding(
        code=code,
        name="name",
        severity=Severity.ERROR,
        message="message",
        location=place(row, cell),
        trace=tuple(TraceStep(place(step, cell), "step") for step in steps),
        fix=Fix(Applicability.SAFE, "fix", edits) if fixed else None,
    )


def checked(text=TEXT, whole=(), quick=None):
    """What is known after a whole check, and a quick one before it."""
    found = Found()
    if quick is not None:
        found = found.after(program(text), Answer(1, tuple(quick), is_first=True))
        assert found.shown == tuple(quick)
    found = found.after(program(text), Answer(1, tuple(whole), quick=None if quick is None else tuple(quick)))
    assert found.shown == tuple(whole)
    return found


def rows(found, text, quick=()):
    """The rows that are shown after a quick check of a text."""
    after = found.after(program(text), Answer(2, tuple(quick), is_first=True))
    return [one.location.start.row for one in after.shown]


def test_what_a_quick_check_misses_stays_in_its_place():
    found = checked(whole=[finding(4, steps=(2, 4))], quick=[])
    assert rows(found, TEXT) == [4]
    assert rows(found, f"new\n{TEXT}") == [5]
    assert rows(found, TEXT.replace("three", "three\nmore\nand more")) == [6]


@pytest.mark.parametrize("line", ["two", "four"])
def test_it_goes_where_a_line_of_its_story_changes(line):
    found = checked(whole=[finding(4, steps=(2, 4))], quick=[])
    assert rows(found, TEXT.replace(line, f"{line}!")) == []
    assert rows(found, TEXT.replace(f"{line}\n", "")) == []


def test_what_a_quick_check_saw_and_sees_no_more_is_gone():
    found = checked(whole=[finding(4), finding(5)], quick=[finding(4)])
    assert rows(found, TEXT) == [5]
    assert rows(found, TEXT, quick=[finding(4)]) == [5, 4]


def test_without_a_quick_check_there_is_nothing_that_it_missed():
    assert rows(checked(whole=[finding(4)]), TEXT) == []


def test_what_the_whole_check_refuted_is_not_shown_again():
    found = checked(whole=[], quick=[finding(4)])
    assert rows(found, TEXT, quick=[finding(4)]) == []
    assert rows(found, f"new\n{TEXT}", quick=[finding(5)]) == []
    assert rows(found, TEXT, quick=[finding(4, "GL301")]) == [4]
    assert rows(found, TEXT.replace("four", "fore"), quick=[finding(4)]) == [4]


def test_it_is_shown_once_where_the_quick_check_finds_it_now():
    found = checked(whole=[finding(4)], quick=[])
    assert rows(found, TEXT, quick=[finding(4)]) == [4]


def test_several_quick_checks_in_a_row_go_back_to_the_whole_one():
    found = checked(whole=[finding(4)], quick=[])
    between = found.after(program(TEXT.replace("four", "fore")), Answer(2, is_first=True))
    assert between.shown == ()
    assert rows(between, TEXT) == [4]


def test_a_fix_moves_along_and_is_left_out_where_its_line_changes():
    found = checked(whole=[finding(4, fixed=2)], quick=[])
    moved = found.after(program(f"new\n{TEXT}"), Answer(2, is_first=True)).shown[0]
    assert moved.fix.edits[0].start == Position(3, 1)
    kept = found.after(program(TEXT.replace("two", "2")), Answer(2, is_first=True)).shown[0]
    assert kept.fix is None


def test_findings_move_with_their_cells():
    before = program("a\nb", "c\nd")
    found = Found().after(before, Answer(1, (finding(2, cell=2),), quick=()))
    inserted = program("a\nb", "new", "c\nd", uris=["cell-0", "cell-9", "cell-1"])
    (moved,) = found.after(inserted, Answer(2, is_first=True)).shown
    assert (moved.location.cell, moved.location.start.row) == (3, 2)
    gone = program("a\nb", "c\nd", uris=["cell-0", "cell-9"])
    assert found.after(gone, Answer(2, is_first=True)).shown == ()


def test_places_in_other_files_stay():
    there = finding(4)
    step = TraceStep(place(9, filename="/somewhere/net.py"), "step")
    there = Finding(there.code, "name", Severity.ERROR, "message", there.location, trace=(step,))
    found = checked(whole=[there], quick=[])
    (moved,) = found.after(program(f"new\n{TEXT}"), Answer(2, is_first=True)).shown
    assert moved.trace == (step,)
