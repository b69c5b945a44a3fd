"""A fix is made where its finding is gone afterwards, and the program still means something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gradcheck_tool.config import Overrides
from gradcheck_tool.fixes.apply import fix_bytes
from gradcheck_tool.session.session import Options, Session
from gradcheck_tool.sources.source import read_source
from tests.fakes import finding, replacement
from tests.running import happened

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """
net = torch.nn.Linear(1, 1)
{made}
for _ in range(10):
    loss = net(torch.ones(1, 1)).sum()
    {clear}loss.backward()
    {step}
"""
CLEAR = "{}.zero_grad()\n    "
UPDATER = """import torch
class Updater:
    def __init__(self, model):
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
    def update(self):
        self.opt.step()
"""
SUBCLASS = """import torch
class Mine(torch.optim.Adam):
    def step(self):
        super().step()
"""
ADDED = """import torch
import torch.nn.functional as F
net = torch.nn.Linear(3, 3)
loader = [(torch.ones(3, 3), torch.ones(3, 3).long())]
for image, target in loader:
    outputs = [net(image) for _ in range(3)]
    loss = 0
    for t in range(3):
        loss = loss + F.cross_entropy(outputs[t], target[:, t])
    loss.backward()
    for t in range(3):
        loss = loss + F.cross_entropy(outputs[t], target[:, t])
"""
LEFT = {
    "the optimizer is another object's": UPDATER
    + LOOP.format(made="updater = Updater(net)", clear="", step="updater.update()"),
    "the optimizer is an argument elsewhere": "import torch\ndef apply(optim):\n    optim.step()\n"
    + LOOP.format(made="sgd = torch.optim.SGD(net.parameters(), lr=0.1)", clear="", step="apply(sgd)"),
    "the finding stays": ADDED,
    "a keyword is there already": "import torch\nx = torch.ones(1, requires_grad=True)\nloss = (x * 2).sum()\n"
    "loss.backward(retain_variables=True, retain_graph=False)\n",
    "a loss has both keywords": "import torch\nc = torch.nn.MSELoss(size_average=False, reduction='mean')\n",
    "other keywords are not known": "import torch\nc = torch.nn.MSELoss(size_average=False, **options)\n",
    "a variable of a loop is bound anew": "import torch\nx = torch.ones(4, requires_grad=True) * 2\n"
    "for part in x.split(2):\n    part.detach_()\nx.sum().backward()\n",
    "backward is somebody else's": "import torch\ndef step(engine, loss):\n"
    "    engine.backward(loss, retain_variables=True)\n",
}
MADE = {
    "super() of a subclass": (
        SUBCLASS + LOOP.format(made="opt = Mine(net.parameters())", clear="", step="opt.step()"),
        SUBCLASS
        + LOOP.format(made="opt = Mine(net.parameters())", clear=CLEAR.format("opt"), step="opt.step()"),
    ),
    "one keyword of two": (
        (
            "import torch\nloss = torch.ones(1, requires_grad=True).sum()\n"
            "loss.backward(create_graph=False, retain_variables=True)\n"
        ),
        (
            "import torch\nloss = torch.ones(1, requires_grad=True).sum()\n"
            "loss.backward(create_graph=False, retain_graph=True)\n"
        ),
    ),
}


def fixed(tmp_path: Path, text: str) -> tuple[str, int]:
    """The program as fixes leave it, and how many were made."""
    path = tmp_path / "a.py"
    path.write_text(text)
    session = Session(tmp_path, Options(Overrides(isolated=True, extend_select=("GL9",))))
    changes = session.fix(session.check([path]), unsafe=True)
    return (changes[0].after.decode(), len(changes[0].findings)) if changes else (text, 0)


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_a_fix_that_would_not_mend_the_program_is_not_made(tmp_path: Path, text: str) -> None:
    assert fixed(tmp_path, text) == (text, 0)


@pytest.mark.parametrize(("text", "after"), MADE.values(), ids=MADE)
def test_a_fix_that_mends_the_program_is_made_once(tmp_path: Path, text: str, after: str) -> None:
    assert fixed(tmp_path, text) == (after, 1)
    assert fixed(tmp_path, after) == (after, 0)
    assert happened(after)[0] is None


@pytest.mark.parametrize("text", [text for name, text in LEFT.items() if "optimizer" in name])
def test_a_fix_with_names_of_another_scope_is_not_offered(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.py"
    path.write_text(text)
    session = Session(tmp_path, Options(Overrides(isolated=True)))
    assert [(item.code, item.fix) for item in session.check([path]).findings] == [("GL401", None)]


def test_fixes_that_go_are_made_without_those_that_stay() -> None:
    def examine(data: bytes) -> object:
        source = read_source("/a.py", data)
        found = []
        for row, line in enumerate(source.text.split("\n"), start=1):
            for word, good in (("one", "two"), ("odd", "odd.odd")):
                if word in line:
                    at = line.index(word) + 1
                    fix = replacement(row, at, at + len(word), good)
                    found.append(finding("/a.py", row, at, fix=fix))
        return source, found

    result = fix_bytes(b"a = one\nb = odd\nc = one\n", examine, unsafe=False)
    assert result.data == b"a = two\nb = odd\nc = two\n"
    assert len(result.fixed) == 2
