"""Hooks that loops register: again on the same object, or each on one of its own."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

KNOWN = (
    HEAD
    + """
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
seen = []
def count(module, args, output):
    seen.append(output.shape)
for _ in range(3):
    net[0].register_forward_hook(count)
    net(torch.ones(3, 2)).sum().backward()
"""
)
OPEN = (
    HEAD
    + """
def train(model, optimizer, loader):
    for x in loader:
        model.head.register_forward_hook(print)
        loss = model(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
)
OF_PARAMETER = KNOWN.replace(
    "net[0].register_forward_hook(count)", "net[0].weight.register_hook(lambda g: seen.append(g.shape))"
)


@pytest.mark.parametrize("source", [KNOWN, OPEN, OF_PARAMETER])
def test_a_hook_that_is_registered_in_each_iteration_is_found(source: str) -> None:
    assert [finding.code for finding in told(source)] == ["GL819"]


@pytest.mark.parametrize("source", [KNOWN, OF_PARAMETER])
def test_pytorch_runs_it_more_and_more_often(source: str) -> None:
    pytest.importorskip("torch")
    assert happened(source + "assert len(seen) == 3, len(seen)\n")[1] == "6"


QUIET = {
    "the handle is removed": (
        "    net(torch",
        "    net[0].register_forward_hook(count).remove()\n    net(torch",
    ),
    "a hook of what each iteration computes": (
        "    net[0].register_forward_hook(count)\n    net(torch.ones(3, 2))",
        "    result = net(torch.ones(3, 2))\n    result.register_hook(print)\n    result",
    ),
    "each layer gets one": ("for _ in range(3):\n    net[0]", "for layer in net:\n    layer"),
    "the loop goes over hooks": (".sum().backward()", ".sum()"),
    "the network is a new one": (
        "    net[0].reg",
        "    net = nn.Sequential(nn.Linear(2, 1))\n    net[0].reg",
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_registered_once_is_quiet(name: str) -> None:
    assert QUIET[name][0] in KNOWN
    assert "GL819" not in [finding.code for finding in told(KNOWN.replace(*QUIET[name]))]


def test_a_hook_that_is_registered_before_the_loop_is_quiet() -> None:
    line = "    net[0].register_forward_hook(count)\n"
    source = KNOWN.replace(line, "").replace("for _ in range(3):", f"{line.strip()}\nfor _ in range(3):")
    assert told(source) == []
    pytest.importorskip("torch")
    assert happened(source + "assert len(seen) == 3, len(seen)\n") == (None, "")


OF_LAYER = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = nn.Linear(2, 1), []

    def forward(self, x):
        self.layer.weight.register_hook(self.seen.append)
        return self.layer(x)
"""
)
IN_STEP = (
    HEAD
    + """
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def train_step(self, x):
        for p in self.model.parameters():
            p.register_hook(lambda g: g.clamp(-1, 1))
        loss = self.model(x).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
)


@pytest.mark.parametrize("source", [OF_LAYER, IN_STEP])
def test_a_hook_that_each_call_registers_is_found(source: str) -> None:
    assert [finding.code for finding in told(source)] == ["GL819"]
    assert told(source + "\n\ndef forget(handle):\n    handle.remove()\n") == []


def test_pytorch_runs_the_hook_of_a_layer_more_and_more_often() -> None:
    run = "net = Net()\nfor _ in range(2): net(torch.ones(3, 2)).sum().backward()\n"
    assert happened(f"{OF_LAYER}{run}assert len(net.seen) == 2, len(net.seen)\n")[1] == "3"


@pytest.mark.parametrize("made", ["x * 2", "self.layer(x)"])
def test_a_hook_of_what_the_call_itself_computes_is_quiet(made: str) -> None:
    source = OF_LAYER.replace(
        "        self.layer.weight.", f"        self.weight = {made}\n        self.weight."
    )
    assert told(source) == []
