"""What is reported of a program does not change when it is written another way that means the same.

Each rewriting is tried on some of the fixtures and of the examples in the documentation of the rules, in turn;
`benchmarks/rewriting.py` tries all on all.
"""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from tests.rewriting.judge import REWRITINGS, changed, examples, numbered, rewritten

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = [
    *((str(path.relative_to(FIXTURES)), path.read_text("utf-8")) for path in sorted(FIXTURES.rglob("*.py"))),
    *examples(),
]
# Of so many programs one is rewritten in each way.
ONE_OF = 24


def test_there_are_many_rewritings() -> None:
    assert len(REWRITINGS) >= 60


@pytest.mark.parametrize(("number", "name"), enumerate(REWRITINGS), ids=list(REWRITINGS))
def test_the_verdict_stays(number: int, name: str) -> None:
    found = {title: changed(source, name) for title, source in PROGRAMS[number % ONE_OF :: ONE_OF]}
    assert {title: one for title, one in found.items() if one} == {}


@pytest.mark.parametrize("name", REWRITINGS)
def test_a_rewriting_gives_another_program(name: str) -> None:
    """Of some fixture at least, and one that Python reads."""
    for _, source in PROGRAMS:
        other = rewritten(numbered(cst.parse_module(source)), name)
        if other is not None:
            compile(other, name, "exec")
            return
    pytest.fail("no program has what it rewrites")
