"""What the pages of rules say about errors is run: the examples show it, or programs of a table do."""

from __future__ import annotations

import warnings

import pytest

from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.oracle.sentences import to_be_shown
from tests.oracle.shown import HEAD, SHOWN
from tests.running import happened

torch = pytest.importorskip("torch")

RULES = [rule for rule in RuleSet.load().known if rule.holds_for(torch.__version__)]


def test_what_examples_do_not_show_has_a_program() -> None:
    said = [tuple(sentence) for rule in RULES for sentence in to_be_shown(rule)]
    assert [sentence for sentence in said if sentence not in SHOWN] == []
    assert [sentence for sentence in SHOWN if sentence not in said] == []


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, id=f"{code}-{number}")
        for (code, _), programs in SHOWN.items()
        for number, program in enumerate(programs)
    ],
)
def test_a_sentence_is_true(program: str) -> None:
    torch.set_warn_always(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row, message = happened(HEAD + program)
    torch.set_warn_always(False)
    marked = [n for n, line in enumerate((HEAD + program).splitlines(), 1) if line.endswith("# raises")]
    assert [row] * (row is not None) == marked, message
