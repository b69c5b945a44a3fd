"""Results that a container keeps though nobody can differentiate them any more."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD as START
from tests.open_programs import told
from tests.running import findings

MISTAKES = {
    "a loss that is computed again after the step": Mistake(
        HEAD
        + """
model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = {"train": []}
for step in range(3):
    model(torch.ones(2, 3)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    loss = model(torch.ones(2, 3)).pow(2).mean()
    history["train"].append(loss)  # <- GL602
symptom = torch.is_tensor(history["train"][0])
""",
        "append(loss)",
        "append(loss.item())",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


LOOP = """
import torch
def train(closure, optimizer, steps, stop):
    history = []
    while not stop(history):
        optimizer.zero_grad()
        loss = closure()
        {before}
        loss.backward({how})
        optimizer.step()
        {after}
    return torch.stack(history)
"""


@pytest.mark.parametrize(
    ("before", "how", "after", "lines"),
    [
        ("history.append(loss)", "", "pass", [8]),
        ("pass", "", "history.append(loss)", [11]),
        ("pass", "", "history += [loss]", [11]),
        ("pass", "", "history.append(loss.item())", []),
        ("pass", "", "history.append(loss.detach())", []),
        ("history.append(loss)", "retain_graph=True", "pass", []),
        ("history.append(loss)", "torch.ones(3)", "pass", []),
        ("history = []", "", "history.append(loss)", []),
        ("history.clear()", "", "history.append(loss)", []),
    ],
)
def test_an_unknown_loss_is_spent_once_it_has_been_differentiated(
    before: str, how: str, after: str, lines: list[int]
) -> None:
    program = LOOP.format(before=before, how=how, after=after)
    assert [line for line, code in findings(program) if code == "GL602"] == lines


OPEN = """
import torch
def train(model, criterion, optimizer, loader, batch):
    history = []
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {keeping}
    return history
"""


@pytest.mark.parametrize(
    ("keeping", "count"),
    [
        ("history.append(criterion(model(batch), batch))", 1),
        ("history.append(criterion(model(batch), batch).detach())", 0),
        ("history = [criterion(model(batch), batch)]", 0),
    ],
)
def test_a_step_changes_what_earlier_losses_have_saved(keeping: str, count: int) -> None:
    assert len(findings(OPEN.format(keeping=keeping))) == count


def test_a_list_of_fixed_size_does_not_grow() -> None:
    program = """
import torch
def attack(closure, steps):
    best = [1e10, 1e10]
    for step in range(steps):
        loss = closure()
        loss.backward()
        best[step % 2] = loss
    return best
"""
    assert findings(program) == []


def test_a_differentiated_loss_is_spent_in_whichever_list_it_is_kept() -> None:
    source = (
        START
        + """
class Trainer:
    def __init__(self, model, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader
        self.history = []

    def fit(self, epochs):
        for epoch in range(epochs):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                self.history.append(loss)
"""
    )
    assert [finding.code for finding in told(source)] == ["GL602"]
    assert told(source.replace("append(loss)", "append(loss.item())")) == []


RECORDER = """
import torch
from torch import nn

class Recorder:
    def __init__(self, layer):
        self.features = []
        layer.register_forward_hook(self.hook)

    def hook(self, module, inputs, output):
        {keep}

def main():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    recorder = Recorder(model[1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(300):
        loss = model(torch.randn(5, 4)).pow(2).mean(){more}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}

main()
"""


@pytest.mark.parametrize(
    ("keep", "more", "after", "codes"),
    [
        ("self.features.append(output)", "", "pass", ["GL602"]),
        ("self.features.append(output.detach())", "", "pass", []),
        ("self.features.append(output)", "", "recorder.features.clear()", []),
        ("self.features.append(output)", "", "recorder.features = []", []),
        (
            "self.features.append(output)",
            " + recorder.features[-1].abs().mean()",
            "recorder.features = []",
            [],
        ),
    ],
)
def test_what_a_hook_records_is_kept_with_its_graph(
    keep: str, more: str, after: str, codes: list[str]
) -> None:
    program = RECORDER.format(keep=keep, more=more, after=after)
    assert [finding.code for finding in told(program)] == codes


TOTAL = """
def train(net, optimizer, loader):
    total = 0.0
    for x in loader:
        optimizer.zero_grad()
        loss = net.calculate(x)
        {backward}
        optimizer.step()
        total += loss
    return total / len(loader)
"""


@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        ("loss.backward()", [(9, "GL601")]),
        ("loss.backward(retain_graph=True)", []),
        ("pass", []),
    ],
)
def test_nobody_differentiates_a_total_of_what_has_been_differentiated(
    backward: str, expected: list[tuple[int, str]]
) -> None:
    assert findings(TOTAL.format(backward=backward)) == expected


OUTPUTS = """
def run(step, loader, optimizer, finish):
    outputs = []
    for i, batch in enumerate(loader):
        optimizer.zero_grad()
        output = step(batch, i)
        output["loss"].backward()
        optimizer.step()
        {keep}
    return finish(outputs)
"""


@pytest.mark.parametrize(
    ("keep", "codes"),
    [
        ("outputs.append(output)", ["GL602"]),
        ('outputs.append({"loss": output["loss"], "batch": i})', ["GL602"]),
        ('output["loss"] = output["loss"].detach(); outputs.append(output)', []),
        ('outputs.append({"loss": output["loss"].item(), "batch": i})', []),
        ('outputs.append(output["metrics"])', []),
    ],
)
def test_a_differentiated_loss_is_spent_inside_of_what_is_kept(keep: str, codes: list[str]) -> None:
    assert [finding.code for finding in told(OUTPUTS.format(keep=keep))] == codes


def test_parts_of_one_result_have_one_graph() -> None:
    source = (
        START
        + """
def train(model, optimizer, loader):
    for x, y in loader:
        out = model(x)
        losses = []
        for i in range(x.size(0)):
            losses.append(((out[i] - y[i]) ** 2).sum())
        print(len(losses))
"""
    )
    assert told(source) == []


REDUCED = """
def reduced(losses):
    with torch.no_grad():
        values = []
        for name in sorted(losses):
            values.append(losses[name])
        return torch.stack(values) / 2

def train(loader, generator, critic, optimizer, other):
    losses = {}
    for real in loader:
        losses["critic"] = F.softplus(critic(real)).mean()
        critic.zero_grad()
        losses["critic"].backward()
        other.step()
        losses["generator"] = critic(generator(real)).mean()
        generator.zero_grad()
        losses["generator"].backward()
        optimizer.step()
        print(reduced(losses))
"""


def test_what_is_older_than_a_list_is_not_kept_by_it() -> None:
    """A list that a function makes of the losses of one iteration keeps none of them for the next one."""
    assert told(START + REDUCED) == []
