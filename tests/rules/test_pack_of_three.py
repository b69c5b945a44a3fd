"""A rule is one file and has no privileges: a rule on a name, one on an event, one with a tracker of its own."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.analysis import entries
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.interp.solver import Solver
from gradcheck_tool.rulebook.documentation import Program, read_doc
from gradcheck_tool.rulebook.ruleset import RuleSet

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding

FOLDER = Path(__file__).parent
BUILT_IN = RuleSet.load()
RULES = RuleSet.load([FOLDER / "pack_of_three"])
OWN = [rule for rule in RULES.known if rule.code.startswith("TEAM")]
EXAMPLES = [
    pytest.param(rule.code, program, id=f"{rule.code}-{number}")
    for rule in OWN
    for number, program in enumerate(read_doc(type(rule)).wrong)
]
HEAD = "import torch\n\n\ndef example():\n"
FIXTURES = sorted((FOLDER.parents[1] / "fixtures").rglob("*.py"))[::8]
# A library of which one function trains, and the others compute what no rule asks about.
LIBRARY = (
    "import torch\nfrom torch import nn\n"
    + "".join(
        f"""

class Block{number}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range({number}))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return x
"""
        for number in range(2, 12)
    )
    + """

def train(model, data):
    loss = model(data).sum()
    loss.backward()
    loss.backward()
"""
)


def test_there_are_three() -> None:
    assert [rule.code for rule in OWN] == ["TEAM001", "TEAM002", "TEAM003"]


@pytest.mark.parametrize("others", [True, False], ids=["with-built-in", "alone"])
@pytest.mark.parametrize(("code", "program"), EXAMPLES)
def test_its_example_is_found_in_a_function_that_nothing_calls(
    code: str, program: Program, others: bool
) -> None:
    library = HEAD + textwrap.indent(program.source, "    ")
    rules = RULES if others else RULES.select([code])
    found = {
        finding.location.start.row
        for finding in check_source(library, "program.py", rules)
        if finding.code == code
    }
    assert found == {mark.row + HEAD.count("\n") for mark in program.marks}


@pytest.mark.parametrize("rule", OWN, ids=lambda rule: rule.code)
def test_the_program_to_use_instead_is_clear(rule: type) -> None:
    for program in read_doc(type(rule)).right:
        assert not check_source(program.source, "program.py", RULES.select(["TEAM"]))


def test_a_name_is_known_under_another_name() -> None:
    source = "from torch.autograd import set_detect_anomaly as careful\n\n\ndef f():\n    careful(True)\n"
    assert [finding.code for finding in check_source(source, "program.py", RULES)] == ["TEAM001"]


class Work:
    """Counts the instructions that are executed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runs: list[Solver] = []
        begin = Solver.__init__

        def watched(m: Solver, *arguments: object) -> None:
            begin(m, *arguments)  # type: ignore[arg-type]
            self.runs.append(m)

        monkeypatch.setattr(entries.Solver, "__init__", watched)

    def check(self, rules: RuleSet) -> tuple[list[Finding], int]:
        """Findings in all programs but those of the pack, and the instructions that they took."""
        self.runs.clear()
        found = [
            finding
            for source in (LIBRARY, *(path.read_text(encoding="utf-8") for path in FIXTURES))
            for finding in check_source(source, "program.py", rules)
            if not finding.code.startswith("TEAM")
        ]
        return found, sum(m.budget.executed for m in self.runs)


def test_a_pack_changes_no_other_finding_and_costs_what_its_rules_do(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    found, without = work.check(BUILT_IN)
    found_with_pack, with_pack = work.check(RULES)
    assert found_with_pack == found
    assert without <= with_pack <= 1.1 * without


def test_a_pack_with_an_empty_rule_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.py").write_text(
        "from gradcheck_tool import Rule, Severity\n\n\nclass Empty(Rule):\n"
        '    """Nothing."""\n\n    code = "TEAM009"\n    name = "empty"\n    severity = Severity.INFO\n',
        encoding="utf-8",
    )
    work = Work(monkeypatch)
    assert work.check(RuleSet.load([tmp_path])) == work.check(BUILT_IN)
