"""The rule with a tracker that the page for contributors shows works as it is printed there."""

from __future__ import annotations

import re
from pathlib import Path

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.ruleset import RuleSet

PAGE = Path(__file__).parents[2] / "docs" / "contributing" / "event.md"

PROGRAM = """import torch
def train(model, data, flag):
    w = torch.nn.Parameter(torch.ones(2))
    v = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.SGD([w], lr=0.1)
    w.sum().backward()
    if flag:
        opt.step()
    else:
        opt.step()
    v.sum().backward()
    opt.step()
    w.sum().backward()
    opt.step()
"""


def test_the_sample_reports_the_second_step_of_a_path_and_no_other(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    (tmp_path / "team002.py").write_text(code[1], encoding="utf-8")
    rules = RuleSet.load([tmp_path]).select(["TEAM002"])
    assert [finding.location.start.row for finding in check_source(PROGRAM, "program.py", rules)] == [12]
