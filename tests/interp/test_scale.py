"""Programs whose ways multiply: they are executed to their end, and the mistake at the end is found."""

from __future__ import annotations

import pytest

from gradcheck_tool import FreedGraph, GraphKept
from gradcheck_tool.analysis.plans import ExecutionPlan
from gradcheck_tool.ir.lower import lower_module
from tests.running import Analysis, happened

START = """
import collections, os, random
import torch
from torch import nn
import torch.nn.functional as F
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(3, 4), torch.randn(3, 4)) for _ in os.listdir("/")]
"""
END = """
loss = model(torch.randn(3, 4)).exp().sum()
loss.backward()
loss.backward()
"""
# Bodies that come before the mistake, and within how many instructions all is executed.
BODIES = {
    "a table of words": (f"words = [{', '.join(repr(f'word {n}') for n in range(12_000))}]\n", 1_000),
    "gradients of another iteration are other tensors": (
        """
def train(epoch):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            print(epoch, i, loss.item())
            if os.environ.get("DRY_RUN"):
                break

def test():
    total = 0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y).item()
    print(total)

for epoch in range(10):
    train(epoch)
    test()
""",
        10_000,
    ),
    "lists of numbers that grow": (
        """
memory = collections.deque(maxlen=100)
for episode in range(20):
    done = False
    while not done:
        action = model(torch.rand(1, 4)).argmax().item()
        memory.append((action, 0.5, [1.0, 2.0]))
        done = random.random() < 0.5
    for _ in range(5):
        actions, rewards = [], []
        for action, reward, state in random.sample(list(memory), 1):
            actions.append([action])
            rewards.append([reward])
        optimizer.zero_grad()
        F.mse_loss(model(torch.rand(1, 4)).mean().view(1, 1), torch.tensor(rewards)).backward()
        optimizer.step()
""",
        12_000,
    ),
    "nested comprehensions over what is not known": (
        """
def table(n):
    return [[row for _ in os.listdir("/") for row in range(n) if row % 2] for _ in os.listdir("/")]

for epoch in range(8):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        if epoch % 2:
            table(epoch)
""",
        25_000,
    ),
    "loops within loops whose ways differ": (
        """
for epoch in range(9):
    for x, y in loader:
        for a in os.listdir("/"):
            for b in os.listdir("/"):
                if os.environ.get("A" + b):
                    optimizer.zero_grad()
                    F.mse_loss(model(x), y).backward()
                if os.environ.get("B" + b):
                    optimizer.step()
""",
        6_000,
    ),
    "loops within loops in a function that is called in loops": (
        """
class Agent:
    def __init__(self):
        self.states = []
        self.updates = 0

    def update(self):
        for _ in os.listdir("/"):
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
        self.updates += 1
        self.states.append(model(torch.ones(1, 4)).detach())

agent = Agent()
for epoch in range(9):
    for step in range(99):
        agent.update()
""",
        4_500,
    ),
    "an unknown function that may or may not have seen the model": (
        """
import unknown_library
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        if os.environ.get("LOG"):
            unknown_library.log(model)
        if os.environ.get("SAVE"):
            unknown_library.save(model, optimizer)
""",
        12_000,
    ),
}


@pytest.mark.parametrize(("body", "limit"), BODIES.values(), ids=BODIES)
def test_a_mistake_after_many_ways_is_found(body: str, limit: int) -> None:
    source = f"{START}{body}{END}"
    analysis = Analysis(source, ExecutionPlan(limit=limit))
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [source.count("\n")]


@pytest.mark.parametrize(
    "body", [body for name, (body, _) in BODIES.items() if "unknown function" not in name]
)
def test_pytorch_raises_there_too(body: str) -> None:
    # It does however often the loops run.
    shorter = body.replace('os.listdir("/")', '["a", "b"]').replace("range(99)", "range(3)")
    source = f"{START}{shorter}{END}"
    assert happened(source)[0] == source.count("\n")


def test_what_ways_that_were_left_out_would_have_shown_is_not_absent() -> None:
    source = f"""{START}
total = 0
for epoch in range(9):
    for x, y in loader:
        for name in os.listdir("/"):
            loss = F.mse_loss(model(x), y)
            total += F.l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if os.environ.get("A" + name):
                print(x)
            if os.environ.get("B" + name):
                print(y)
print(total.item())
"""
    narrow = Analysis(source, ExecutionPlan(limit=5_000))
    assert not narrow.unfinished
    assert not narrow.rows(GraphKept)
    assert len(Analysis(source).rows(GraphKept)) == 1


def test_making_what_a_parameter_is_counts_as_work_of_the_function() -> None:
    layers = "\n".join(f"        self.layer{n} = nn.Linear(2, 2)" for n in range(30))
    source = f"""
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
{layers}

    def forward(self, x):
        return self.layer0(x)

def train(net, x):
    net(x).sum().backward()
    net.layer1(x).sum().backward()
"""
    assert "train" in Analysis(source, ExecutionPlan(limit=60, single=0)).unfinished
    assert not Analysis(source, ExecutionPlan()).unfinished


# Decisions whose outcomes all stay different: the ways double with each.
DECISIONS = "\n".join(f"flag{n} = 1 if os.environ.get('{n}') else 'none'" for n in range(12))
LATER = "\n".join(f"if flag{n} == 1:\n    print({n})" for n in range(12))


def test_what_takes_too_long_is_executed_along_a_single_way() -> None:
    source = f"{START}{DECISIONS}\n{LATER}\n{END}"
    assert Analysis(source, ExecutionPlan(limit=200, single=0)).unfinished
    analysis = Analysis(source, ExecutionPlan(limit=200))
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [source.count("\n")]


def test_a_function_that_took_too_long_takes_a_single_way_at_once_when_it_is_called_again() -> None:
    source = f"""{START}
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def step(self, x):
        loss = self.model(x).sum()
        loss.backward()
        self.optimizer.step()
        {"; ".join(f"a{n} = x.item() if x.max() > {n} else x" for n in range(8))}
"""
    assert not Analysis(source, ExecutionPlan(limit=400)).unfinished


def test_what_sets_a_script_up_leaves_its_loop_half_of_the_work() -> None:
    """Its calls of another file's code would take all that there is, each a part of what the others left."""
    calls = range(40)
    work = "    total = total + options['size'] * 2\n" * 200
    other = lower_module(
        "".join(f"def part{n}(options):\n    total = 0\n{work}    return total\n" for n in calls), "parts.py"
    )
    script = f"""
import torch
import parts
from options import options

def main():
    {"; ".join(f"parts.part{n}(options())" for n in calls)}
    net = torch.nn.Linear(2, 1)
    for _ in range(3):
        loss = net(torch.ones(2)).sum()
        loss.backward()
        loss.backward()

if __name__ == "__main__":
    main()
"""
    plan = ExecutionPlan(limit=100, single=8_000)
    analysis = Analysis(script, plan, lambda _, name, level: other if name == "parts" else None)
    assert not analysis.unfinished
    assert analysis.rows(FreedGraph) == [script.count("\n") - 3]
