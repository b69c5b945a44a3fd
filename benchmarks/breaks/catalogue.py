"""All breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.breaks import domain, engine, interpreter, library, run_time, trackers

if TYPE_CHECKING:
    from benchmarks.breaks.base import Break

# The programs of `fixtures/` as users see them: what any part of the static engine says wrong may show there.
PROGRAMS = "tests/fixtures/test_fixtures.py::test_gradlint_agrees_with_the_marks"
STATIC: list[Break] = [
    one._replace(tests=(*one.tests, PROGRAMS))
    for one in (
        *domain.BREAKS,
        *engine.BREAKS,
        *interpreter.BREAKS,
        *library.BREAKS,
        *trackers.BREAKS,
    )
]
RUN_TIME: list[Break] = run_time.BREAKS
BREAKS: list[Break] = [*STATIC, *RUN_TIME]
