"""Training and evaluation mode."""

from __future__ import annotations

import pytest

from tests.cases import HEAD as START
from tests.cases import Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD, told
from tests.running import rows

# Silent mistakes, and what corrects them.
MISTAKES = {
    "labels are guessed before the first step, in evaluation mode": Mistake(
        START
        + """
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def guess(inputs):
    model.eval()  # <- GL516
    with torch.no_grad():
        labels = model(inputs).argmax(1)
    return labels

model.train()
modes = []
for _ in range(3):
    labels = guess(torch.randn(4, 3))
    modes.append(model.training)
    optimizer.zero_grad()
    F.cross_entropy(model(torch.randn(4, 3)), labels).backward()
    optimizer.step()
symptom = not any(modes)
""",
        "    return labels\n",
        "    model.train()\n    return labels\n",
    ),
    "a network is validated between its epochs": Mistake(
        START
        + """
net = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
modes = []
for epoch in range(3):
    optimizer.zero_grad()
    net(torch.ones(8, 2)).pow(2).mean().backward()
    modes.append(net.training)
    optimizer.step()
    net.eval()  # <- GL516 EvalModeTraining
    with torch.no_grad():
        net(torch.ones(8, 2))
symptom = not all(modes)
""",
        "        net(torch.ones(8, 2))\n",
        "        net(torch.ones(8, 2))\n    net.train()\n",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize(
    ("layer", "evaluation", "reported"),
    [
        ("nn.Dropout(0.5)", "with torch.no_grad():\n        net(x)", True),
        ("nn.BatchNorm1d(2)", "with torch.no_grad():\n        net(x)", True),
        ("nn.Tanh()", "with torch.no_grad():\n        net(x)", False),
        ("nn.Dropout(0.5)", "pass", False),
        ("nn.Dropout(0.5)", "net(x).sum().backward()", False),
        ("nn.Dropout(0.5)", "with torch.no_grad():\n        net(x)\n    net[0].train()", False),
    ],
    ids=[
        *("dropout", "batch norm", "no such layer", "never evaluated", "evaluated with gradients"),
        "a part is trained on purpose",
    ],
)
def test_only_layers_that_differ_between_the_modes_matter(
    layer: str, evaluation: str, reported: bool
) -> None:
    source = f"""
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 2), {layer})
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(3, 2)
for _ in range(3):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
    net.eval()
    {evaluation}
"""
    assert rows(source, "EvalModeTraining") == [11] * reported


WITH_GRADIENTS = (
    HEAD
    + """
def evaluate(model, data):
    model.eval()
    return sum((model(x).data.argmax(1) == y).sum().item() for x, y in data)

def train(model, optimizer, data, held_out, epochs):
    model.train()
    for epoch in range(epochs):
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        evaluate(model, held_out)
"""
)


def test_an_evaluation_may_leave_gradients_on() -> None:
    assert [finding.code for finding in told(WITH_GRADIENTS)] == ["GL516"]
    assert told(WITH_GRADIENTS.replace("held_out)\n", "held_out)\n        model.train()\n")) == []


def test_a_line_that_trains_in_evaluation_mode_from_some_time_on_is_meant_to() -> None:
    frozen = WITH_GRADIENTS.replace(
        "        evaluate(model, held_out)", "        if epoch > 3:\n            model.eval()"
    )
    assert told(frozen) == []


def test_an_attack_in_evaluation_mode_is_no_evaluation_of_what_is_trained_in_training_mode() -> None:
    attacked = WITH_GRADIENTS.replace(
        "            optimizer.zero_grad()",
        "            model.eval()\n            x = x.detach().requires_grad_()\n            x = x + torch.autograd.grad(model(x).sum(), x)[0].sign()\n"
        "            model.train()\n            optimizer.zero_grad()",
    )
    assert told(attacked.replace("        evaluate(model, held_out)\n", "")) == []


OUT_OF_SIGHT = (
    HEAD
    + """
from networks import Network

def evaluate(model, data):
    model.eval()
    with torch.no_grad():
        return [model(x) for x in data]

def train(data, held_out, epochs):
    model = Network(3)
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(epochs):
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        evaluate(model, held_out)
"""
)


@pytest.mark.parametrize("made", ["Network(3)", "Network(3).to('cuda')", "Network.from_pretrained(3)"])
def test_a_model_that_is_made_out_of_sight_is_in_training_mode_at_first(made: str) -> None:
    source = OUT_OF_SIGHT.replace("Network(3)", made)
    assert [(finding.code, finding.location.start.row) for finding in told(source)] == [("GL516", 9)]
    for right in (
        source.replace("        for x, y in data", "        model.train()\n        for x, y in data"),
        source.replace("    model.eval()\n", ""),
        source.replace("    for epoch in", "    model.eval()\n    for epoch in"),
        source.replace("        return [", "        model.train()\n        return ["),
    ):
        assert told(right) == []


@pytest.mark.parametrize(
    ("told_to", "reported"),
    [("save_model", True), ("log_weights", True), ("validate_and_save", False), ("prepare", False)],
)
def test_who_writes_a_model_down_leaves_its_mode(told_to: str, reported: bool) -> None:
    source = OUT_OF_SIGHT.replace("import Network", f"import Network, {told_to}").replace(
        "        evaluate(model, held_out)\n",
        f"        evaluate(model, held_out)\n        {told_to}(model)\n",
    )
    assert [finding.code for finding in told(source)] == ["GL516"] * reported


BY_NAME = """
import torch
from torch import nn

class Trainer:
    def __init__(self, asked):
        self.asked = asked
        self.net = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def switch(self):
        {switch}

    def features(self, loader):
        self.net.eval()
        return [self.net(x) for x, _ in loader]

    def epoch(self, loader):
        self.switch()
        for x, y in loader:
            self.optimizer.zero_grad()
            (self.net(x) - y).pow(2).mean().backward()
            self.optimizer.step()

def main(loader, asked):
    trainer = Trainer(asked)
    for _ in range(3):
        trainer.epoch(loader)
        trainer.features(loader)
"""
ALL = "found = [name for name in dir(self) if isinstance(getattr(self, name), nn.Module)]"


@pytest.mark.parametrize(
    ("switch", "expected"),
    [
        (f"{ALL}\n        for name in found: getattr(self, name).train()", []),
        ("getattr(self, self.asked).train()", []),
        ("pass", ["GL516"]),
    ],
)
def test_what_is_switched_by_its_name(switch: str, expected: list[str]) -> None:
    assert [finding.code for finding in told(BY_NAME.format(switch=switch))] == expected


IN_PARTS = (
    HEAD
    + """
from contextlib import nullcontext

def validate(model, held_out):
    model.eval()
    with torch.no_grad():
        return [model(x) for x in held_out]

def train(model, optimizer, data, held_out, scaler, options):
    model.train()
    for i, x in enumerate(data):
        if options["engine"] == "ddp" and (i + 1) % options["parts"] != 0:
            context = model.no_sync
        else:
            context = nullcontext
        with context():
            loss = model(x).mean()
            if scaler is not None:
                scaler.scale(loss).backward()
            else:
                loss.backward()
        if (i + 1) % options["parts"] == 0:
            if scaler is not None:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
        if i % options["often"] == 0 and i != 0:
            validate(model, held_out)
"""
)


def test_of_many_ways_one_is_followed_on_which_most_is_still_open() -> None:
    assert [(finding.code, finding.location.start.row) for finding in told(IN_PARTS)] == [("GL516", 9)]
    assert told(IN_PARTS.replace("held_out)\n", "held_out)\n            model.train()\n")) == []


def test_the_trace_leads_from_the_switch_to_the_training() -> None:
    (finding,) = told(MISTAKES["labels are guessed before the first step, in evaluation mode"].wrong)
    assert [step.message for step in finding.trace] == [
        "`model.eval()` switches evaluation mode on here",
        "`optimizer` goes on training here",
    ]
