"""The lowered program does what CPython does: it prints the same, line by line."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from tests.ir.concrete import run

SECTIONS = re.split(
    r"^#### (.*)\n", Path(__file__).with_name("programs.txt").read_text("utf-8"), flags=re.MULTILINE
)
PROGRAMS = dict(zip(SECTIONS[1::2], SECTIONS[2::2], strict=True))


def output_of(execute, source):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        execute(source)
    return printed.getvalue()


def run_by_python(source):
    exec(compile(source, "program.py", "exec"), {"__name__": "__main__"})


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_what_python_prints(name):
    expected = output_of(run_by_python, PROGRAMS[name])
    assert expected
    assert output_of(run, PROGRAMS[name]) == expected
