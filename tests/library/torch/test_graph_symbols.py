"""Parts of what networks that are not known return: each has the graph of the whole."""

from __future__ import annotations

import pytest

from gradcheck_tool.domain.graph import Node
from gradcheck_tool.domain.state import State
from gradcheck_tool.domain.values import GRAPH, Symbol
from gradcheck_tool.library.torch.graph_symbols import graph_symbol, node_of
from tests.open_programs import HEAD, Open, check_open, told
from tests.running import findings, happened

TRAINER = (
    HEAD
    + """
def train(model, loader):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in loader:
        optimizer.zero_grad()
        with torch.no_grad():
            outputs = model(images)
{loss}
        loss.backward()  # <- GL501
        optimizer.step()
"""
)
LOSSES = {
    "a loop over all": """
        loss = 0.0
        for out in outputs:
            loss = loss + F.mse_loss(out, labels)
""",
    "a numbered loop": """
        loss = 0.0
        for i, out in enumerate(outputs):
            loss = loss + 0.5 ** i * F.mse_loss(out, labels)
""",
    "a comprehension": """
        loss = sum(F.mse_loss(out, labels) for out in outputs)
""",
    "one of them": """
        loss = F.mse_loss(outputs[0], labels)
""",
    "one of them that data are written to": """
        out = outputs[0]
        out += labels
        loss = F.mse_loss(out, labels)
""",
}
DRIVER = """
class Both(nn.Linear):
    def forward(self, x):
        return super().forward(x), super().forward(x) * 2

train(Both(2, 2), [(torch.ones(3, 2), torch.zeros(3, 2))] * 2)
"""


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_parts_have_the_graph_of_the_whole(loss: str) -> None:
    wrong = TRAINER.format(loss=loss.strip("\n"))
    assumes = ("`model` has parameters that require a gradient",)
    check_open(Open(wrong, "torch.no_grad()", "torch.enable_grad()", DRIVER, assumes))


def output() -> tuple[State, Symbol]:
    """What an opaque module returned."""
    s = State()
    node = Node("module", "net(x)", None)
    node.frees = True
    return s, graph_symbol(s, s.new(node))


def part(of: Symbol, how: str, name: object) -> Symbol:
    return Symbol((how, of, name), GRAPH)


def test_a_symbol_is_that_of_its_node() -> None:
    s, symbol = output()
    assert symbol.kind == GRAPH
    node = node_of(s, symbol)
    assert node is not None
    assert s[node].text == "net(x)"


def test_each_part_has_a_node_of_its_own_that_stays_the_same() -> None:
    s, symbol = output()
    loss, logits = part(symbol, "attr", "loss"), part(symbol, "item", 1)
    nodes = [node_of(s, each) for each in (symbol, loss, logits, loss)]
    assert None not in nodes
    assert nodes[1] == nodes[3]
    assert len({node.id for node in nodes if node is not None}) == 3
    assert all(s[node].frees for node in nodes if node is not None)


def test_a_part_of_a_part_belongs_to_the_whole() -> None:
    s, symbol = output()
    node = node_of(s, part(part(symbol, "attr", "outputs"), "item", 0))
    assert node is not None
    assert s[node].op == "module"


def test_what_was_made_without_grad_mode_has_no_node() -> None:
    assert node_of(State(), Symbol(("attr", Symbol(1, GRAPH), "loss"), GRAPH)) is None


LOSSES_OF_ONE_CALL = """
def train(net, critic, criterion, optimizer, critic_optimizer, loader):
    net.train()
    for x, real in loader:
        optimizer.zero_grad()
        critic_optimizer.zero_grad()
        loss, critic_loss = criterion(outputs=net(x), real=real, critic=critic)
        loss.backward()
        {again}.backward()
        optimizer.step()
        critic_optimizer.step()
"""


@pytest.mark.parametrize(("again", "expected"), [("critic_loss", []), ("loss", ["GL101"])])
def test_losses_of_one_call_need_not_have_a_graph_in_common(again: str, expected: list[str]) -> None:
    program = HEAD + LOSSES_OF_ONE_CALL.format(again=again)
    assert [finding.code for finding in told(program)] == expected


LOSSES_OF_TWO = (
    HEAD
    + """
def train(criterion, loader):
    trunk = nn.Linear(2, 2)
    one, two = (nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)) for _ in range(2))
    trains_one = torch.optim.SGD({trained}.parameters(), lr=0.1)
    trains_two = torch.optim.SGD([*trunk.parameters(), *two.parameters()], lr=0.1)
    for x, y in loader:
        h = trunk(x).tanh()
        first, second = criterion({given}, y)
        trains_one.zero_grad()
        first.backward(retain_graph=True)
        trains_one.step()
        trains_two.zero_grad()
        {write}
        second.backward()
        trains_two.step()
"""
)


@pytest.mark.parametrize(
    ("given", "trained", "write", "expected"),
    [
        ("one(h), two(h)", "one", "pass", []),  # the second loss may be of two(h) alone
        ("one(h)", "one", "pass", ["GL202"]),  # both are of one(h)
        ("one(h), two(h)", "one", "h.mul_(2)", ["GL201"]),  # both go through tanh
    ],
)
def test_each_of_several_losses_may_be_of_another_argument(
    given: str, trained: str, write: str, expected: list[str]
) -> None:
    found = told(LOSSES_OF_TWO.format(given=given, trained=trained, write=write))
    assert [finding.code for finding in found if finding.code != "GL319"] == expected


HEADED = """
import torch
from torch import nn

class Headed(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(3, 3)

    def forward(self, x):
        with torch.{mode}():
            features = self.encoder(x)
        return self.head({given})
"""


@pytest.mark.parametrize(
    ("mode", "given", "raises"),
    [
        ("inference_mode", "features", True),
        ("inference_mode", "features[0]", True),
        ("inference_mode", "features.clone()", False),
        ("no_grad", "features", False),
    ],
)
def test_what_a_given_module_computes_in_inference_mode_cannot_be_saved(
    mode: str, given: str, raises: bool
) -> None:
    program = HEADED.format(mode=mode, given=given)
    assert findings(program) == ([(13, "GL207")] if raises else [])
    raised, _ = happened(program + "\nHeaded(nn.Linear(3, 3))(torch.ones(2, 3)).sum().backward()\n")
    assert (raised is not None) is raises
