"""Sums of losses that are kept with their graphs."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD as OPEN
from tests.open_programs import told
from tests.running import findings

PARTS = (
    OPEN
    + """
def train(model, optimizer, criterion, loader):
    kept = []
    for batch in loader:
        losses = criterion(model(batch), batch)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(%s)
    return kept
"""
)


def test_the_sum_of_the_losses_of_a_dictionary_has_a_graph() -> None:
    assert [finding.code for finding in told(PARTS % "loss")] == ["GL602"]
    assert told(PARTS % "loss.item()") == []


def test_what_is_moved_keeps_its_graph() -> None:
    source = PARTS.replace("losses = criterion(model(batch), batch)", "out = model(batch)")
    source = source.replace("sum(losses.values())", "criterion(out, batch)")
    assert [finding.code for finding in told(source % "out.cpu()")] == ["GL602"]
    assert told(source % "out.detach().cpu()") == []


@pytest.mark.parametrize("size", ["x.size(0)", "x.shape[0]", "len(x)", "cfg.batch_size"])
def test_a_loss_times_a_size_is_a_number(size: str) -> None:
    source = (
        OPEN
        + f"""
def train(model, optimizer, loader, cfg):
    total = 0
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss * {size}
    print(total)
"""
    )
    assert [finding.code for finding in told(source)] == ["GL601"]
    assert told(source.replace("total += loss", "total += loss.item()")) == []


DISPATCHED = """
import torch
def learn(data, kind):
    w = torch.zeros(len(data), requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(800):
        total = 0
        for at in range(len(data)):
            part = (w[at] - data[at]).pow(2)
            if kind == "a":
                total += 0.5 * part
            elif kind == "b":
                total += torch.sqrt(part + 100)
            else:
                raise ValueError(kind)
        optimizer.zero_grad()
        {use}
        optimizer.step()
learn(torch.rand(int(input())), input())
"""


def test_ways_that_are_not_followed_may_differentiate_what_they_keep() -> None:
    assert findings(DISPATCHED.format(use="(w.sum() + total).backward()")) == []


AVERAGED = """
def evaluate(net, loader):
    net.eval()
    total = 0
    for x, y in loader:
        total += F.mse_loss(net(x), y)
    {averaged}
    print(total{read})
"""


@pytest.mark.parametrize(
    "averaged", ["total /= len(loader)", "total *= 0.5", "total = total / 3", "total.neg_()"]
)
def test_a_sum_that_is_averaged_in_place_is_still_shown_alone(averaged: str) -> None:
    source = OPEN + AVERAGED.format(averaged=averaged, read=".item()")
    assert [finding.code for finding in told(source)] == ["GL601"]
    trained = source.replace("print(total.item())", "total.backward()")
    assert told(trained) == []


def test_a_sum_that_an_error_keeps_from_being_differentiated_is_not_kept() -> None:
    source = (
        OPEN
        + """
from somewhere import average, step
policy = nn.Linear(3, 1)
def episode():
    values, rewards, done = [], [], False
    while not done:
        values.append(policy(torch.ones(3)))
        reward, done = step(values[-1])
        rewards.append(reward)
    return values, rewards
def finish(values, rewards):
    total = 0
    for value, reward in zip(values, rewards):
        total += F.mse_loss(value, torch.Tensor([reward]))
    total.backward(torch.ones(1))
    return total
while average < 1.0:
    print(finish(*episode()).item())
"""
    )
    assert [finding.code for finding in told(source)] == ["GL309"]


SELF_TRAINED = """
class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 1)

    def forward(self, x):
        return self.inner(x)

    def fit(self, loader):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        {start}
        for x in loader:
            optimizer.zero_grad()
            loss = self(x).pow(2).mean()
            {train}
            {keep}
        return {shown}
"""


@pytest.mark.parametrize(
    ("code", "start", "keep", "shown"),
    [
        ("GL601", "total = 0.0", "total += loss", "total / len(loader)"),
        ("GL602", "losses = []", "losses.append(loss)", "sum(losses) / len(losses)"),
    ],
)
def test_a_network_that_trains_itself_keeps_what_it_has_differentiated(
    code: str, start: str, keep: str, shown: str
) -> None:
    train = "loss.backward(); optimizer.step()"
    source = OPEN + SELF_TRAINED.format(start=start, train=train, keep=keep, shown=shown)
    assert [finding.code for finding in told(source)] == [code]
    parts = OPEN + SELF_TRAINED.format(start=start, train="pass", keep=keep, shown=shown)
    assert told(parts) == []


@pytest.mark.parametrize(
    "keep", ["kept.append(total)", "kept[len(kept):] = [total]", "kept.insert(0, total)", "kept += [total]"]
)
def test_running_totals_that_are_collected_and_differentiated_were_not_kept_to_be_shown(keep: str) -> None:
    source = f"""
import torch

net = torch.nn.Linear(2, 1)
kept, total = [], 0
for x in torch.ones(3, 2):
    total = total + net(x).sum()
    {keep}
torch.autograd.backward(kept)
"""
    assert findings(source) == []
    assert findings(source.replace("torch.autograd.backward(kept)", "print(total)")) == [(7, "GL601")]


def test_what_is_collected_to_be_differentiated_together_is_not_called_kept_for_nothing() -> None:
    source = """
import torch

net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
log_probs = []

def finish():
    optimizer.zero_grad()
    torch.stack(log_probs).exp().mean().backward()
    optimizer.step()

class Memory:
    def add(self, x):
        log_probs.append(x)

memory = Memory()
for _ in range(4):
    for _ in range(3):
        memory.add(net(torch.ones(2)).exp().sum())
    finish()
"""
    assert [code for _, code in findings(source)] == ["GL102"]
    assert findings(source.replace("step()\n\nclass", "step()\n    log_probs.clear()\n\nclass")) == []


@pytest.mark.parametrize("average", ["0.9 * average + 0.1 * loss", "0.1 * loss + 0.9 * average"])
def test_a_running_average_is_written_either_way(average: str) -> None:
    source = (
        OPEN
        + f"""
def train(model, optimizer, loader):
    average = None
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if average is None:
            average = loss
        else:
            average = {average}
"""
    )
    (found,) = told(source)
    assert found.code == "GL601"
    assert found.message.startswith("`average` keeps the graph of `0.1 * loss`")
    assert (
        told(source.replace("0.1 * loss", "0.1 * loss.item()").replace("= loss\n", "= loss.item()\n")) == []
    )
