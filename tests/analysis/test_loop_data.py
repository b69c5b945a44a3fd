"""What a training loop goes through is data, wherever it comes from."""

from __future__ import annotations

import pytest

from tests.running import findings, happened

# The gradient is made without a graph, so that the term has none, unless the other operand may have one.
TRAINING = """import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for {loop} in fetch():
    {start}
    energy = net(x)
    (slope,) = torch.autograd.grad(energy.sum(), x, retain_graph=True{create})
    loss = (energy - y).pow(2).sum() + {term}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
FETCH = "fetch = lambda: [(torch.ones(2, 3), torch.ones(2, 1), torch.ones(2, 3))]"
MARKED = "x.requires_grad_()"


@pytest.mark.parametrize(
    ("loop", "start", "term"),
    [
        ("x, y, targets", MARKED, "(slope - targets).abs().sum()"),
        (
            "x, y, targets",
            MARKED,
            "((slope - targets).abs() / (targets >= 0).sum(dim=1, keepdim=True)).sum()",
        ),
        ("batch", f"x, y, targets = batch; {MARKED}", "(slope - targets).abs().sum()"),
        ("i, batch", f"x, y, targets = batch; {MARKED}", "(slope - targets).abs().sum()"),
    ],
)
def test_a_target_of_a_training_loop_has_no_graph(loop: str, start: str, term: str) -> None:
    program = TRAINING.format(loop=loop, start=start, term=term, create="")
    program = program.replace("fetch()", "enumerate(fetch())") if loop.startswith("i") else program
    assert [code for _, code in findings(program)] == ["GL803"]
    assert happened(program.replace("net =", FETCH + "\nnet =", 1))[0] is None
    assert findings(TRAINING.format(loop=loop, start=start, term=term, create=", create_graph=True")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # What it is called does not tell.
        ("targets", "others"),
        # It is a loss, and no data.
        ("optimizer.zero_grad()", "optimizer.zero_grad(); targets.backward()"),
        # It is a function.
        ("optimizer.zero_grad()", "optimizer.zero_grad(); targets(x)"),
        # Whoever calls the unit differentiates, later on.
        ("    optimizer.step()\n", ""),
    ],
)
def test_what_else_a_loop_goes_through_may_have_a_graph(old: str, new: str) -> None:
    term = "(slope - targets).abs().sum()"
    program = TRAINING.format(loop="x, y, targets", start=MARKED, term=term, create="")
    assert "GL803" not in [code for _, code in findings(program.replace(old, new))]


WHOLES = """
import torch
from torchvision.models import resnet18

model = resnet18()
parameters = []
for {target} in model.{listed}():
    if isinstance(module, torch.nn.BatchNorm2d):
        parameters += list(module.parameters(recurse=False))
    else:
        for p in module.parameters(recurse=False):
            parameters.append(p)
optimizer = torch.optim.SGD(parameters, lr=0.1)
for inputs in [torch.ones(2, 3, 64, 64)] * 100:
    {clears}
    model(inputs).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("target", "listed"), [("name, module", "named_modules"), ("module", "modules")])
def test_the_parts_of_a_module_are_cleared_with_it(target: str, listed: str) -> None:
    """After the module itself, a loop goes through parts of which nothing is known."""
    program = WHOLES.format(target=target, listed=listed, clears="model.zero_grad()")
    assert findings(program) == []
    program = WHOLES.format(target=target, listed=listed, clears="pass")
    assert [code for _, code in findings(program)] == ["GL401"]
