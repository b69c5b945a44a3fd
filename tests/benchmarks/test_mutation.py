"""The breaks of `benchmarks/mutation.py` can still be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.breaks.base import Break, StaleBreakError
from benchmarks.breaks.catalogue import BREAKS, RUN_TIME, STATIC

ROOT = Path(__file__).resolve().parents[2]


def test_there_are_breaks_of_both_engines() -> None:
    assert len(STATIC) >= 60
    assert len(RUN_TIME) >= 20
    assert len({one.name for one in BREAKS}) == len(BREAKS)


@pytest.mark.parametrize("one", [pytest.param(one, id=one.name) for one in BREAKS])
def test_a_break_gives_another_program_and_names_its_tests(one: Break) -> None:
    broken = one.applied(ROOT)
    assert broken != (ROOT / one.path).read_text("utf-8")
    compile(broken, one.path, "exec")
    for argument in one.tests:
        assert (ROOT / argument.partition("::")[0]).is_file()


def test_a_break_that_does_not_apply_says_so() -> None:
    stale = BREAKS[0]._replace(old="nobody writes this")
    with pytest.raises(StaleBreakError, match="nobody writes this"):
        stale.applied(ROOT)
