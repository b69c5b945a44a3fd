"""The way to a finding: what is recorded on it, and what of that its story needs."""

import pytest

from gradcheck_tool.analysis.program import check_source, recorded_story
from gradcheck_tool.rulebook.ruleset import RuleSet

RULES = RuleSet.load()
HEAD = "import torch\n\nx = torch.ones(3, requires_grad=True)\n"
LOOP = """\
import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(rows):
    loss = model(rows).sum()
    loss.backward()
    optimizer.step()


for _ in range(9):
    train(torch.ones(2, 3))
"""


def told(program, code):
    (finding,) = [one for one in check_source(program, "a.py", RULES) if one.code == code]
    steps = recorded_story(
        program, "a.py", RULES, lambda one: (one.code, one.location) == (code, finding.location)
    )
    return finding, [(step.location.start.row, step.kind, step.tensor) for step in steps]


def test_names_of_the_same_memory_are_told_and_others_are_not():
    _, steps = told(
        HEAD + "y = x.exp()\nother = x.sin()\nview = y\nview.mul_(2)\ny.sum().backward()\n", "GL201"
    )
    assert steps == [
        (4, "saved", "x.exp()"),
        (4, "alias", "y"),
        (6, "alias", "view"),
        (7, "changed", "x.exp()"),
        (8, "raised", None),
    ]


def test_the_way_is_that_of_the_branch_that_leads_there():
    program = (
        HEAD + "y = x.exp()\nif input():\n    z = y\n    y.mul_(2)\nelse:\n    w = y\ny.sum().backward()\n"
    )
    _, steps = told(program, "GL201")
    assert (6, "alias", "z") in steps
    assert not [row for row, _, _ in steps if row == 9]


def test_calls_are_entered_on_the_way_and_gradients_are_filled_and_applied():
    _, steps = told(LOOP, "GL401")
    assert [(row, kind) for row, kind, _ in steps] == [
        (14, "called"),
        (9, "backward"),
        (10, "applied"),
        (9, "backward"),
        (10, "applied"),
    ]


def test_attributes_that_keep_a_tensor_are_told():
    program = (
        HEAD
        + "class Box: pass\n\nbox = Box()\ny = x.exp()\nbox.kept = y\nbox.kept.mul_(2)\ny.sum().backward()\n"
    )
    _, steps = told(program, "GL201")
    assert (8, "alias", ".kept") in steps


def test_the_last_step_has_the_words_of_the_finding():
    program = HEAD + "y = x.exp()\ny.mul_(2)\ny.sum().backward()\n"
    finding, _ = told(program, "GL201")
    steps = recorded_story(program, "a.py", RULES, lambda one: one.code == "GL201")
    assert steps[-1] == finding.trace[-1]


def test_a_finding_that_the_run_does_not_lead_to_has_no_way():
    assert recorded_story(HEAD, "a.py", RULES, lambda _: True) == ()


@pytest.mark.parametrize("program", [LOOP, HEAD + "y = x.exp()\ny.mul_(2)\ny.sum().backward()\n"])
def test_recording_changes_no_finding(program):
    before = check_source(program, "a.py", RULES)
    seen = []
    recorded_story(program, "a.py", RULES, lambda one: bool(seen.append((one.code, one.location))))
    assert {(one.code, one.location) for one in before} <= set(seen)
