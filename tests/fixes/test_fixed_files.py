"""Whatever file is fixed: it compiles, keeps its comments and other lines, and has no finding it had not before."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from gradcheck_tool.config import Config
from gradcheck_tool.rulebook.documentation import read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet
from gradcheck_tool.session.files import FileChecker
from gradcheck_tool.sources.errors import SourceError
from tests.fixes.mistakes import with_mistakes
from tests.fixes.properties import Fixing

NOWHERE = Path("/nowhere/a.py")
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = [path.read_bytes() for path in sorted(FIXTURES.rglob("*.py"))]
EXAMPLES = [
    program.source.encode() for rule in RuleSet.load().known for program in read_doc(type(rule)).wrong
]
RIGHT = PROGRAMS[::2]
# One mistake each: what raises keeps others from being seen.
SEEDED = [with_mistakes(Random(seed), program, 1) for seed, program in enumerate(RIGHT)]
SETS = {
    "fixtures": (PROGRAMS, PROGRAMS, 10),
    "examples": (EXAMPLES, EXAMPLES, 30),
    "fixtures with mistakes": (SEEDED, RIGHT, 12),
}


@pytest.mark.slow
@pytest.mark.parametrize(("programs", "right", "least"), SETS.values(), ids=SETS)
def test_fixes_leave_files_as_they_should_be(programs: list[bytes], right: list[bytes], least: int) -> None:
    fixing = Fixing(FileChecker(), Config(NOWHERE.parent, select=("ALL",)))
    changed, wrong = 0, []
    for program, without in zip(programs, right, strict=True):
        hidden = fixing.codes(without, NOWHERE)
        try:
            fixing.fix(program, NOWHERE)
        except SourceError:
            continue
        changed += fixing.fixed is not None and bool(fixing.fixed.fixed)
        wrong += list(fixing.violations(NOWHERE, hidden))
    assert wrong == []
    assert changed >= least


@pytest.mark.parametrize(
    ("end", "program"),
    [
        (end, text)
        for end in ("\n", "\r\n")
        for text in (
            "\ufeffimport torch\n\x0c\nx = torch.ones(1)  # \u00e9\ttabs\t\ntorch.nn.init.uniform(x) # \u2028 odd",
            "# coding: latin-1\nimport torch\nif 1:\n\ttorch.nn.init.uniform(torch.ones(1))  # \u00e9 tab\n",
        )
    ],
)
def test_odd_characters_stay_as_they_are(end: str, program: str) -> None:
    codec = "latin-1" if "latin-1" in program else "utf-8"
    data = program.replace("\n", end).encode(codec)
    fixing = Fixing(FileChecker(), Config(NOWHERE.parent, select=("ALL",)))
    fixing.fix(data, NOWHERE)
    assert fixing.fixed is not None
    assert fixing.fixed.data == data.replace(b"init.uniform(", b"init.uniform_(")
