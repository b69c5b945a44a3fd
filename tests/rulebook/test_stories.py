"""Steps of stories: what kind they are, and which memory in which version they are about."""

from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.rulebook.ruleset import RuleSet

RULES = RuleSet.load()
CHANGED = """import torch

x = torch.randn(3, requires_grad=True)
y = x.exp()
y.mul_(2)
y.sum().backward()
"""
ALIAS = """import torch

x = torch.randn(3, requires_grad=True)
y = x.exp()
y.data.mul_(2)
y.sum().backward()
"""
NEVER_CLEARED = """import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(9):
    model(torch.randn(2, 3)).sum().backward()
    optimizer.step()
"""
TWICE = """import torch

x = torch.randn(3, requires_grad=True)
loss = x.exp().sum()
loss.backward()
loss.backward()
"""


def _steps(program: str, code: str):
    (finding,) = [one for one in check_source(program, "a.py", RULES) if one.code == code]
    return finding.trace


def test_a_write_to_what_is_saved_is_told_with_both_versions_of_one_memory():
    steps = _steps(CHANGED, "GL201")
    assert [(step.kind, step.storage, step.version) for step in steps] == [
        ("saved", 1, 0),
        ("changed", 1, 1),
        ("raised", None, None),
    ]
    assert [step.tensor for step in steps] == ["x.exp()", "x.exp()", None]


def test_a_write_that_autograd_does_not_count_leaves_the_version():
    steps = _steps(ALIAS, "GL205")
    assert [(step.kind, step.storage, step.version) for step in steps] == [
        ("saved", 1, 0),
        ("changed", 1, None),
        ("backward", None, None),
    ]


def test_gradients_are_applied_filled_and_applied_again():
    assert [step.kind for step in _steps(NEVER_CLEARED, "GL401")] == ["applied", "backward", "applied"]


def test_a_graph_is_saved_and_freed():
    assert [step.kind for step in _steps(TWICE, "GL101")] == ["saved", "freed", "raised"]


def test_numbers_are_the_same_each_time():
    assert _steps(CHANGED, "GL201") == _steps(CHANGED, "GL201")
