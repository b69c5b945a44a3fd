"""Tensors that are written in each iteration with results whose graphs are spent."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

ATTACK = """
def attack(model, x, y, steps):
    best = x.clone().detach()
    change = torch.zeros_like(x, requires_grad=True)
    optimizer = torch.optim.Adam([change])
    for _ in range(steps):
        changed = torch.tanh(x + change)
        logits = model(changed)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        better = logits.argmax(1) != y
        {keep}
    return best
"""
PILED = {
    "rows": "best[better] = changed[better]",
    "a choice": "best = torch.where(better, changed, best)",
    "a choice the other way round": "best = torch.where(~better, best, changed)",
    "a tensor that grows": "best = torch.cat([best, changed])",
    "a tensor that grows from its front": "best = torch.vstack((changed, best))",
    "the larger of two": "best = torch.maximum(best, changed)",
    "a sum by a function": "best = torch.add(best, changed)",
    "a sum, the other way round": "best = changed + best",
}
FREE = {
    "detached rows": "best[better] = changed[better].detach()",
    "a choice of what is detached": "best = torch.where(better, changed.detach(), best)",
    "without gradients": "with torch.no_grad(): best[better] = changed[better]",
    "the last one alone": "best = torch.where(better, changed, x)",
    "a join of what is detached": "best = torch.cat([best, changed.detach()])",
    "a join with the last one alone": "best = torch.cat([x, changed])",
    "the larger of two, detached": "best = torch.maximum(best, changed).detach()",
    "a sum without gradients": "with torch.no_grad(): best = changed + best",
}
OUTPUTS = """
def forward(cell, x, optimizer, batches):
    for batch in batches:
        outputs = torch.zeros(len(batch), 4)
        for t, row in enumerate(batch):
            outputs[t] = cell(row).tanh()
        optimizer.zero_grad()
        outputs.sum().backward()
        optimizer.step()
"""

ROWS = """
def train(batches):
    cell = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    for batch in batches:
        outputs = torch.zeros(3, 4)
        for t in range(3):
            outputs[t] = cell(batch[t]).tanh()
        optimizer.zero_grad()
        outputs.sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("keep", PILED.values(), ids=PILED.keys())
def test_rows_with_spent_graphs_are_reported(keep: str) -> None:
    assert [finding.code for finding in told(HEAD + ATTACK.format(keep=keep))] == ["GL601"]


@pytest.mark.parametrize("keep", FREE.values(), ids=FREE.keys())
def test_rows_without_graphs_are_not(keep: str) -> None:
    assert told(HEAD + ATTACK.format(keep=keep)) == []


@pytest.mark.parametrize("program", [OUTPUTS, ROWS])
def test_rows_that_are_differentiated_together_are_not(program: str) -> None:
    assert told(HEAD + program) == []


GROWN = """
class Grown(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Linear(4, 4)

    def forward(self, x):
        links, out = torch.eye(4), torch.zeros(4, 4)
        for i in range(1, 4):
            x = links @ self.conv(x)
            {write}
            out[i] = x[i].tanh()
        return out
"""


@pytest.mark.parametrize(
    ("write", "expected"), [("links = links + x", []), ("links[i] = x[i].exp()", ["GL201"])]
)
def test_a_graph_of_which_something_is_changed_is_another_mistake(write: str, expected: list[str]) -> None:
    """What the same call writes piles nothing up: its result is differentiated as a whole, or raises."""
    assert [finding.code for finding in told(HEAD + GROWN.format(write=write))] == expected


STEPS_OF_A_BATCH = """
def train_critic(batch, targets, steps):
    critic = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
    values = torch.zeros(8, 5, 1)
    for t in {steps}:
        value = critic(batch[:, t])
        values[:, t] = value
        loss = (value - targets[:, t]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return values.detach()
"""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("range(targets.size(1))", []),
        ("reversed(range(targets.shape[1] - 1))", []),
        ("range(steps)", ["GL601"]),
    ],
)
def test_the_rows_of_one_batch_are_gone_with_it(steps: str, expected: list[str]) -> None:
    """As many graphs as a tensor has rows, which die with it, are what training through time keeps, too."""
    assert [finding.code for finding in told(HEAD + STEPS_OF_A_BATCH.format(steps=steps))] == expected
