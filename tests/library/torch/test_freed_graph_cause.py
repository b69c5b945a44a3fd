"""How two backward passes come to share a graph: the story and the cause, which decides the advice."""

from __future__ import annotations

from gradcheck_tool import FreedGraph
from tests.cases import TRAINING, each
from tests.running import Analysis, events, findings, happened

START = """
import torch
w = torch.ones(2, requires_grad=True)
"""
CAUSES = {
    "a closure that an optimizer calls again, in a script that handles what it raises": (
        """
import os
def main():
    total = w.exp().sum()
    def closure():
        total.backward()
        return total
    torch.optim.LBFGS([w]).step(closure)
try:
    os.getcwd()
    main()
except Exception:
    raise
""",
        "shared-subgraph",
    ),
    "the same loss twice": (
        """
loss = w.exp().sum()
loss.backward()
loss.backward()
""",
        "same-root",
    ),
    "two losses of the same features": (
        """
features = w.exp()
features.sum().backward()
features.mean().backward()
""",
        "shared-subgraph",
    ),
    "a state that is carried over": (
        """
state = torch.zeros(2)
for _ in range(3):
    state = torch.tanh(state + w)
    state.sum().backward()
""",
        "carried",
    ),
    "a result that is computed before the loop": (
        """
features = w.exp()
for _ in range(3):
    features.sum().backward()
""",
        "outside-loop",
    ),
}


@each(CAUSES)
def test_the_cause_of_a_freed_graph(program: tuple[str, str]) -> None:
    body, cause = program
    analysis = Analysis(START + body)
    (event,) = analysis.of(FreedGraph)
    assert event.cause == cause
    assert analysis.row(event) == happened(START + body)[0]


def test_the_line_that_freed_the_graph_and_raises_is_the_last_step_of_the_story() -> None:
    """The story of a graph that an iteration before has freed ends where the next one runs the same line."""
    source = TRAINING + "x = net(torch.ones(2)).exp()\nfor _ in range(2):\n    x.sum().backward()\n"
    (event,) = events(source, FreedGraph)
    assert [step.message.rpartition(" ")[2] for step in event.story] == ["here", "here", "again"]
    assert event.story[1].site.node is event.story[2].site.node is event.site.node


LAST = """
import torch
def fisher(net, batches, last):
    for x in batches:
        sums = torch.log_softmax(net(x), 1).sum(0)
        for i, part in enumerate(sums):
            {call}
"""
LOOPS = {
    "a conditional expression": ("part.backward(retain_graph=True if i < last else False)", True),
    "two branches": ("part.backward(retain_graph=True) if i < last else part.backward()", True),
    "a test of something else": ("part.backward(retain_graph=True if last else False)", False),
}


@each(LOOPS)
def test_what_frees_the_graph_in_the_last_iteration_is_right(program: tuple[str, bool]) -> None:
    call, is_right = program
    assert (findings(LAST.format(call=call)) == []) is is_right


def test_a_test_of_known_numbers_is_no_test_for_the_last_iteration() -> None:
    body = """
for i, part in enumerate(w.exp()):
    if i < 1:
        part.backward(retain_graph=True)
    else:
        part.sum().backward()
        part.sum().backward()
"""
    analysis = Analysis(START + body)
    assert [analysis.row(event) for event in analysis.of(FreedGraph)] == [happened(START + body)[0]]


CARRIERS = {
    "a variable": (
        """
state = torch.zeros(2)
for _ in range(3):
    state = torch.tanh(state + w)
    loss = (state * 2).sum()
    loss.backward()
""",
        "state",
    ),
    "a tuple of states": (
        """
cell = torch.nn.LSTMCell(2, 2)
state = (torch.zeros(1, 2), torch.zeros(1, 2))
for _ in range(3):
    state = cell(torch.ones(1, 2), state)
    state[0].sum().backward()
""",
        "state",
    ),
    "what a layer hands back beside its output": (
        """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.hidden = torch.nn.LSTM(2, 2), None
    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return out
net = Net()
for _ in range(3):
    loss = net(torch.ones(1, 1, 2)).sum()
    loss.backward()
""",
        "net.hidden",
    ),
    "an average whose older value is gone, above what saves something": (
        """
class Centre(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("centre", torch.zeros(2))
    def forward(self, x):
        loss = (x - self.centre).exp().sum()
        self.centre = self.centre * 0.9 + x * 0.1
        return loss
criterion = Centre()
for _ in range(3):
    x = w.exp()
    loss = criterion(x)
    loss.backward()
""",
        "criterion.centre",
    ),
}


@each(CARRIERS)
def test_the_message_names_what_is_carried_over(program: tuple[str, str]) -> None:
    body, carrier = program
    analysis = Analysis(START + body)
    (event,) = analysis.of(FreedGraph)
    assert analysis.row(event) == happened(START + body)[0]
    assert (event.cause, event.carrier) == ("carried", carrier)
