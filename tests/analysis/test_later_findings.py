"""What is found after an error that ends the run."""

from __future__ import annotations

from typing import NamedTuple

from gradcheck_tool.rulebook.ruleset import RuleSet
from tests.cases import HEAD, each
from tests.running import findings, happened


class Mended(NamedTuple):
    """A program whose marked lines raise, one after the other: each once the one before is mended.

    `mended` has for each of them but the last what takes its place.
    """

    program: str
    mended: tuple[str, ...]


TWO = {
    "a pass from many numbers, then a gradient of another size": Mended(
        """
w = torch.rand(3, requires_grad=True)
w.exp().backward()  # <- GL103
w.grad = torch.zeros(2)  # <- GL309
""",
        ("w.exp().sum().backward()",),
    ),
    "a write to a leaf, then an array": Mended(
        """
w = torch.rand(3, requires_grad=True)
w += 1  # <- GL301
w.numpy()  # <- GL502
""",
        ("w = w + 1",),
    ),
    "a spent graph, then an optimizer of nothing": Mended(
        """
w = torch.rand(3, requires_grad=True)
loss = w.exp().sum()
loss.backward()
loss.backward()  # <- GL101
torch.optim.SGD(nn.ReLU().parameters(), lr=0.1)  # <- GL322
""",
        ("",),
    ),
    "in a function that nothing calls": Mended(
        """
def train(net, data):
    for x in data:
        loss = net(x) ** 2
        loss.detach().sum().backward()  # <- GL501
        torch.zeros(3, requires_grad=True).numpy()  # <- GL502
train(nn.Linear(2, 1), torch.rand(2, 3, 2))
""",
        ("loss.sum().backward()",),
    ),
    "three in a row": Mended(
        """
w = torch.rand(3, requires_grad=True)
w.numpy()  # <- GL502
torch.zeros(3, dtype=torch.long).requires_grad_()  # <- GL305
(w * 2).backward()  # <- GL103
""",
        ("w.detach().numpy()", "torch.zeros(3).requires_grad_()"),
    ),
}


@each(TWO)
def test_one_run_shows_all(program: Mended) -> None:
    marked = [
        (row, line) for row, line in enumerate((HEAD + program.program).splitlines(), 1) if "# <- " in line
    ]
    assert findings(HEAD + program.program) == [(row, line.rpartition(" ")[2]) for row, line in marked]
    lines = (HEAD + program.program).splitlines()
    for (row, line), text in zip(marked, (*program.mended, ""), strict=True):
        assert happened("\n".join(lines))[0] == row
        lines[row - 1] = line[: len(line) - len(line.lstrip())] + (text or "pass")
    assert happened("\n".join(lines))[0] is None


def test_a_gradient_that_is_none_is_told_after_a_pass_that_raises() -> None:
    source = HEAD + "x = torch.rand(2, requires_grad=True)\ny = x * 2\n"
    source += "y.exp().backward()\ny.sum().backward()\nprint(y.grad)\n"
    start = source[: source.index("y.exp()")].count("\n")
    assert findings(source) == [(start + 1, "GL103"), (start + 3, "GL302")]


CARRIED = """
start = torch.rand(3)
moved = torch.rand(3, requires_grad=True)
for _ in range(3):
    moved.pow(2).sum().backward()
    moved = moved + 0.1 * moved.grad.sign()
    moved = torch.max(moved, start)
"""


def test_a_graph_that_is_carried_over_is_told_after_a_gradient_that_is_none() -> None:
    source = HEAD + CARRIED
    start = source[: source.index("    moved.pow")].count("\n") + 1
    assert findings(source) == [(start, "GL102"), (start + 1, "GL302")]
    assert happened(source)[0] == start + 1
    assert happened(source + "    moved.retain_grad()\n")[0] == start


SUMMED = """
def train(net, data, optimizer):
    for x in data:
        y = net(x).exp()
        y += 1
        y.sum().backward()
        optimizer.step()
net = nn.Linear(2, 1)
train(net, torch.rand(2, 3, 2), torch.optim.SGD(net.parameters(), lr=0.1))
"""


def test_gradients_that_are_never_cleared_are_told_beside_a_pass_that_raises() -> None:
    """The write is mended elsewhere: the pass stays where it is, and adds to the gradients."""
    source = HEAD + SUMMED
    start = source[: source.index("        y.sum()")].count("\n") + 1
    assert findings(source) == [(start, "GL201"), (start, "GL401")]
    assert happened(source)[0] == start
    assert findings(source.replace("y += 1", "y = y + 1")) == [(start, "GL401")]


ONE = {
    "the same graph three times": """
loss = torch.rand(3, requires_grad=True).exp().sum()
loss.backward()
loss.backward()  # <- GL101
loss.backward()
""",
    "two passes over what one write has changed": """
w = torch.rand(3, requires_grad=True)
x = w * 1
one, other = x.exp(), x.sin()
x += 1
one.sum().backward()
other.sum().backward()  # <- GL201
""",
    "steps with what a pass does not give": """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.rand(3, 2):
    opt.zero_grad()
    loss = net(x).detach().sum()
    loss.backward()  # <- GL501
    opt.step()
""",
    "a step and an update of a scaler that has scaled nothing": """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for x in torch.rand(3, 2):
    opt.zero_grad()
    net(x).sum().backward()
    scaler.step(opt)  # <- GL413
    scaler.update()
""",
    "a state that is carried, with steps": """
cell = nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for x in torch.rand(3, 1, 2):
    h = cell(x, h)
    opt.zero_grad()
    h.sum().backward()  # <- GL102
    opt.step()
""",
}


@each(ONE)
def test_one_mistake_is_told_once(program: str) -> None:
    source = HEAD + program
    (row, code) = next(
        (row, line.rpartition(" ")[2]) for row, line in enumerate(source.splitlines(), 1) if "# <- " in line
    )
    assert happened(source)[0] == row
    assert findings(source) == [(row, code)]


CAUGHT = """
import pytest
w = torch.rand(3, requires_grad=True)
with pytest.raises(RuntimeError):
    w.numpy()
    (w * 2).backward()
try:
    w.numpy()
    (w * 2).backward()
except RuntimeError:
    pass
"""


def test_what_follows_an_error_that_is_caught_is_never_run() -> None:
    assert happened(HEAD + CAUGHT) == (None, "")
    assert findings(HEAD + CAUGHT) == []


def test_what_follows_an_error_is_told_without_the_rule_that_tells_the_error() -> None:
    source = HEAD + TWO["a write to a leaf, then an array"].program
    from gradcheck_tool.analysis.program import check_source

    found = check_source(source, "program.py", RuleSet.load().select(["GL502"]))
    assert [finding.code for finding in found] == ["GL502"]
