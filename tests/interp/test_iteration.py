"""Iteration: loops over containers and generators, `yield`, `yield from`, `else`."""

from __future__ import annotations

from gradcheck_tool import FreedGraph
from tests.cases import TRAINING, check_agreement, check_raises, each
from tests.open_programs import HEAD, Open, check_open
from tests.running import events

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "what waits for a number is reached in a list that a loop has filled": """
import torch
w = torch.ones(2, requires_grad=True)
batches = []
for _ in range(8):
    batches.append(torch.ones(2))
loss = (w * w).sum()
for step, batch in enumerate(batches):
    if (step + 1) % 4 == 0:
        loss.backward()  # raises
""",
    "each loss of a list that a loop has filled is another one": """
import torch
w = torch.ones(2, requires_grad=True)
losses = []
for _ in range(8):
    losses.append((w * w).sum())
for step, loss in enumerate(losses):
    loss.backward()
""",
    "a range that two loops go through": """
import torch
ws = [torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)]
agents = range(len(ws))
names = [f"agent {i}" for i in agents]
loss = 0
for i in agents:
    loss = loss + ws[i].exp()
loss.backward()
for w in ws:
    w.grad.mul_(2)
for _ in agents:
    loss.backward()  # raises
""",
    "an iterator of a range, whose beginning is gone": """
import torch
a, b = range(2)
w = torch.ones(2, requires_grad=True)
numbers = iter(range(2))
next(numbers)
loss = torch.zeros(())
for i in numbers:
    loss = loss + w[a].exp()
loss.backward()
for i in numbers:
    loss.backward()
loss.backward()  # raises
""",
    "a generator that ends before the list beside it": """
import torch
w = torch.ones(2, requires_grad=True)
def parts(count):
    for at in range(count):
        yield w * at
def total(count):
    loss = 0
    for part, weight in zip(parts(count), [1.0, 2.0, 3.0]):
        loss = loss + (part * weight).sum()
    return loss
loss = total(int(torch.rand(1)) + 3)
loss.backward()
loss.backward()  # raises
""",
    "batches of what a generator gives carry a memory over": """
import torch
def stream(count):
    for at in range(count):
        yield at % 3, torch.ones(2)
def chunks(items, size):
    items = list(items)
    return [items[i : i + size] for i in range(0, len(items), size)]
w = torch.ones(2, requires_grad=True)
memory = {}
for batch in chunks(stream(30), 6):
    loss = torch.zeros(())
    for key, x in batch:
        memory[key] = memory.get(key, torch.zeros(2)) * w + x
        loss = loss + memory[key].sum()
    loss.backward()  # raises
""",
    "a loop whose third iteration raises": """
import torch
w = torch.ones(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
state = torch.zeros(3)
for _ in range(5):
    state = state * w
    opt.zero_grad()
    state.sum().backward(retain_graph=True)  # raises
    opt.step()
""",
    "a state that is detached in each iteration": """
import torch
w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
for _ in range(5):
    state = state.detach() * w
    state.sum().backward()
""",
    "for else second": """
import torch
w = torch.rand(3, requires_grad=True)
y = w.sin().sum()
for k in range(1):
    y.backward()
else:
    y.backward()  # raises
""",
    "generator yields shared loss": """
import torch
w = torch.rand(3, requires_grad=True)
def losses():
    h = w.exp()
    yield h.sum()
    yield h.mean()
for loss in losses():
    loss.backward()  # raises
""",
    "generator fresh losses": """
import torch
w = torch.rand(3, requires_grad=True)
def losses():
    for _ in range(2):
        h = w.exp()
        yield h.sum()
for loss in losses():
    loss.backward()
""",
    "yield from runs the inner generator": """
import torch
w = torch.ones(2, requires_grad=True)
def losses():
    h = w.exp()
    yield h.sum()
    yield h.mean()
def both():
    yield from losses()
for loss in both():
    loss.backward()  # raises
""",
}

# Programs that raise.
RAISING = {
    "code after a loop over a generator runs": """
def doubled():
    for a in [w, m]:
        yield a * 2.0
for e in doubled():
    pass
torch.ones(3).sum().backward()
""",
    "code after a loop over a generator expression runs": """
for e in (a * 2.0 for a in [w, w]):
    pass
torch.ones(3).sum().backward()
""",
    "a hidden state that is carried over windows of ten": """
h = torch.zeros(3)
loss = 0
for t in range(100):
    h = torch.tanh(h + w)
    loss = loss + h.sum()
    if (t + 1) % 10 == 0:
        loss.backward()
        loss = 0
""",
    "code after a loop over more names than are unrolled runs": """
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3))
net.load_state_dict({k: v * 0.5 for k, v in net.state_dict().items()})
torch.ones(3).sum().backward()
""",
    "code after nested loops runs": """
net = nn.Linear(3, 3)
for i in range(4):
    for j in range(4):
        for p in net.parameters():
            p.data.mul_(0.9)
torch.tensor(0.0).cos().backward()
""",
    "many states of nested loops leave work for the code after them": """
t = m * m
for step in range(4):
    m.register_hook(lambda g: g * 2.0) if flag else None
    n = 4
    while n > 0:
        n -= 1
        m = 3.0 * t.narrow(0, 0, 2)
torch.ones(3).sum().backward()
""",
    "writes in nested loops leave work for the code after them": """
net = nn.Linear(3, 3)
for step in range(3):
    g = torch.ones_like(m)
    for inner in range(2):
        for p in net.parameters():
            p.data.mul_(0.9)
torch.ones(3).sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


def test_what_follows_a_loop_runs_however_many_states_the_loop_has() -> None:
    """Each number of results in the list is a state of its own, in every iteration of the outer loop."""
    source = (
        TRAINING
        + """
from library import feed
history = []
for epoch in range(3):
    for batch in feed:
        loss = net(batch).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss)
total = (net.weight * net.weight).sum()
total.backward()
total.backward()
"""
    )
    assert events(source, FreedGraph)


ELSEWHERE = """
import sys
import types
import torch
elsewhere = types.ModuleType("elsewhere")
elsewhere.source = lambda data: iter([torch.ones(2, 2)] * 3)
sys.modules["elsewhere"] = elsewhere
"""


def test_an_iterator_of_which_nothing_is_known_ends() -> None:
    check_open(
        Open(
            HEAD
            + """
from elsewhere import source

class Data:
    def __iter__(self):
        return source(self)

net = nn.Linear(2, 2)
for x in Data():
    loss = net(x).mean()
    loss.backward()
loss.backward()  # <- GL101
""",
            "loss.backward()  # <- GL101",
            "print(loss.item())",
            "",
        ),
        ELSEWHERE,
    )


def test_what_comes_before_an_iterator_that_never_answers_is_reported() -> None:
    source = """
import torch
class Endless:
    def __iter__(self):
        return self
    def __next__(self):
        while True:
            pass
w = torch.ones(2, requires_grad=True)
y = w * w
y.sum().backward()
print(y.grad)
for value in Endless():
    print(value)
"""
    assert events(source, "GradOfResultRead")
