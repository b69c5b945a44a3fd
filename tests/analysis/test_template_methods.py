"""Methods that a class inherits, and that call what the class defines itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradcheck_tool
from tests.cases import each
from tests.open_programs import HEAD, Open, check_open, check_quiet

if TYPE_CHECKING:
    from pathlib import Path

BASE = """
class Update:
    def update(self, batch):
        self.optimizer.zero_grad()
        target = self.target(batch)
        loss = self.loss(batch, target)
        loss.backward(){at}
        self.optimizer.step()

    def target(self, batch):
        raise NotImplementedError
"""
HEIR = """
class Value(Update):
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

    def target(self, batch):
        return self.net(batch).exp()

    def loss(self, batch, target):
        target *= 0.9
        return (self.net(batch) - target).pow(2).mean()
"""
DRIVER = "Value().update(torch.ones(2, 3))"

OPEN = {
    "what the base differentiates is written to": Open(
        HEAD + BASE.format(at="  # <- GL201") + HEIR,
        "target *= 0.9",
        "target = target * 0.9",
        DRIVER,
    ),
    "a method between two classes": Open(
        HEAD
        + BASE.format(at="  # <- GL201")
        + "\nclass Between(Update):\n    pass\n"
        + HEIR.replace("Value(Update)", "Value(Between)"),
        "target *= 0.9",
        "target = target * 0.9",
        DRIVER,
    ),
    "a forward that the base has": Open(
        HEAD
        + """
class Net(nn.Module):
    def forward(self, x):
        return self.head(self.features(x))

class Small(Net):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(3, 3), nn.Linear(3, 1)

    def features(self, x):
        out = torch.sigmoid(self.first(x))
        out += x  # <- GL201
        return out
""",
        "out += x",
        "out = out + x",
        "Small()(torch.ones(2, 3)).sum().backward()",
        ("the result of `Net.forward` is differentiated",),
    ),
}

QUIET = {
    "the class has an update of its own": HEAD
    + BASE.format(at="")
    + HEIR.replace("Update)", "Update, object)")
    + """
    def update(self, batch):
        self.optimizer.zero_grad()
        self.loss(batch, self.target(batch).detach().clone()).backward()
        self.optimizer.step()
""",
    "another file's base is not known": HEAD + "from elsewhere import Update\n" + HEIR,
}


@each(OPEN)
def test_the_mistake_is_found_and_pytorch_agrees(program: Open) -> None:
    check_open(program)


@each(QUIET)
def test_nothing_is_reported(program: str) -> None:
    check_quiet(program)


def test_a_base_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(BASE.format(at=""))
    heir = tmp_path / "value.py"
    heir.write_text(HEAD + "from base import Update\n" + HEIR)
    assert [(each.code, each.location.filename) for each in gradcheck_tool.check(heir)] == [
        ("GL201", str(tmp_path / "base.py"))
    ]
    heir.write_text(heir.read_text().replace("target *= 0.9", "target = target * 0.9"))
    assert list(gradcheck_tool.check(heir)) == []
