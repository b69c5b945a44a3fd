"""Frameworks that call backward and step for the program, as their models follow them.

They are not installed here: each mistake is one that PyTorch raises, or that applies gradients twice, once
the framework's calls are written out.
"""

from __future__ import annotations

import pytest

from gradcheck_tool import EngineError, FreedGraph, NoGraph, OptimizerStep
from gradcheck_tool.analysis.entries import analyze
from gradcheck_tool.ir.lower import lower_module
from gradcheck_tool.ir.positions import locate
from tests.running import TRACKERS, findings

HEADER = """import torch
from torch import nn
import torch.nn.functional as F
"""
LOOP = """model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
data = [(torch.rand(8, 4), torch.rand(8, 1)) for _ in range(5)]
h = torch.zeros(8, 1)
{setup}
for x, y in data:
    {body}
    {train}
"""
LIGHTNING = """import lightning as L
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)
        self.h = torch.zeros(8, 1)
        self.automatic_optimization = {automatic}
    def training_step(self, batch, batch_idx):
        x, y = batch
        {body}
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
"""
# How each framework is set up, and what one step of training is in it.
STEPS = {
    "accelerate": (
        """from accelerate import Accelerator; accelerator = Accelerator()
model, opt, data = accelerator.prepare(model, opt, data)""",
        "accelerator.backward(loss); opt.step()",
    ),
    "fabric": (
        "from lightning.fabric import Fabric; fabric = Fabric()\nmodel, opt = fabric.setup(model, opt)",
        "fabric.backward(loss); opt.step()",
    ),
    "timm": (
        "from timm.utils import NativeScaler; scaler = NativeScaler()",
        "scaler(loss, opt, clip_grad=1.0, parameters=model.parameters())",
    ),
    "apex": (
        'from apex import amp\nmodel, opt = amp.initialize(model, opt, opt_level="O1")',
        "with amp.scale_loss(loss, opt) as scaled: scaled.backward()\n    opt.step()",
    ),
    "DDP": ("model = nn.parallel.DistributedDataParallel(model)", "loss.backward(); opt.step()"),
    "compile": ("model = torch.compile(model)", "loss.backward(); opt.step()"),
}
DEEPSPEED = (
    "import deepspeed\nmodel, opt, _, _ = deepspeed.initialize(model=model, optimizer=opt, config={})",
    "model.backward(loss); model.step()",
)
LOSS = "loss = F.mse_loss(model(x), y)"
CARRIED = "h = torch.tanh(model(x) + h); loss = F.mse_loss(h, y)"
IGNITE = """model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
from ignite.engine import Engine
def update(engine, batch):
    x, y = batch
    {body}
    loss = F.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    return loss.item()
Engine(update).run([], max_epochs=2)
"""


def events(source: str):
    module = lower_module(HEADER + source, "program.py")
    return analyze(module, trackers=TRACKERS), module


def raised(source: str) -> list[tuple[type, str]]:
    """The errors that the machine predicts, each with the text of its line."""
    found, module = events(source)
    lines = (HEADER + source).splitlines()
    return [
        (type(event), lines[locate(module, event.site.node).start.row - 1].strip())
        for event in found
        if isinstance(event, EngineError)
    ]


def added(source: str) -> bool:
    """Does a backward add to gradients that a step has applied?"""
    return any(type(event).__name__ == "AppliedAgain" for event in events(source)[0])


@pytest.mark.parametrize("name", STEPS)
def test_gradients_that_are_cleared_are_no_mistake(name):
    setup, train = STEPS[name]
    source = LOOP.format(setup=setup, body=f"opt.zero_grad(); {LOSS}", train=train)
    assert not raised(source)
    assert not added(source)


@pytest.mark.parametrize("name", STEPS)
def test_gradients_that_nothing_clears_add_up(name):
    setup, train = STEPS[name]
    assert added(LOOP.format(setup=setup, body=LOSS, train=train))


@pytest.mark.parametrize("name", [*STEPS, "deepspeed"])
def test_a_graph_that_is_carried_over_is_freed(name):
    setup, train = {**STEPS, "deepspeed": DEEPSPEED}[name]
    source = LOOP.format(setup=setup, body=f"opt.zero_grad(); {CARRIED}", train=train)
    assert {kind for kind, _ in raised(source)} == {FreedGraph}


@pytest.mark.parametrize("name", [*STEPS, "deepspeed"])
def test_a_detached_loss_has_no_graph(name):
    setup, train = {**STEPS, "deepspeed": DEEPSPEED}[name]
    source = LOOP.format(setup=setup, body=f"opt.zero_grad(); {LOSS}.detach()", train=train)
    assert {kind for kind, _ in raised(source)} == {NoGraph}


def test_an_engine_that_clears_by_itself_needs_no_other_clearing():
    setup, train = DEEPSPEED
    source = LOOP.format(setup=setup, body=LOSS, train=train)
    assert not raised(source)
    assert not added(source)


def test_ignite_calls_the_process_function_again_and_again():
    assert added(IGNITE.format(body="pass"))
    assert not added(IGNITE.format(body="opt.zero_grad()"))


AUTOMATIC = {
    "return F.mse_loss(self.net(x), y)": [],
    'loss = F.mse_loss(self.net(x), y); return {"loss": loss, "seen": loss.detach()}': [],
    "self.h = torch.tanh(self.net(x) + self.h.detach()); return F.mse_loss(self.h, y)": [],
    "return F.mse_loss(self.net(x), y).detach()": [NoGraph],
    "return F.mse_loss(self.net(x), y).item()": [NoGraph],
    "with torch.no_grad(): out = self.net(x)\n        return F.mse_loss(out, y)": [NoGraph],
    "loss = F.mse_loss(self.net(x), y); loss.backward(); return loss": [FreedGraph],
    "self.h = torch.tanh(self.net(x) + self.h); return F.mse_loss(self.h, y)": [FreedGraph],
}


@pytest.mark.parametrize("body", AUTOMATIC)
def test_lightning_differentiates_what_training_step_returns(body):
    found = raised(LIGHTNING.format(automatic=True, body=body))
    assert [kind for kind, _ in dict.fromkeys(found)] == AUTOMATIC[body]
    assert all("return" in line for _, line in found)


MANUAL = "opt = self.optimizers(); loss = F.mse_loss(self.net(x), y); "


def test_lightning_leaves_manual_optimization_to_the_module():
    fine = LIGHTNING.format(
        automatic=False, body=MANUAL + "opt.zero_grad(); self.manual_backward(loss); opt.step()"
    )
    unclear = LIGHTNING.format(automatic=False, body=MANUAL + "self.manual_backward(loss); opt.step()")
    twice = LIGHTNING.format(
        automatic=False, body=MANUAL + "self.manual_backward(loss); self.manual_backward(loss)"
    )
    assert not raised(fine)
    assert not added(fine)
    assert added(unclear)
    assert {kind for kind, _ in raised(twice)} == {FreedGraph}


def test_the_trainer_of_transformers_differentiates_what_compute_loss_returns():
    source = """from transformers import Trainer
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        out = model(**inputs)
        loss = F.cross_entropy(out.logits, inputs["labels"]){how}
        return (loss, out) if return_outputs else loss
"""
    assert not raised(source.format(how=""))
    assert {kind for kind, _ in raised(source.format(how=".detach()"))} == {NoGraph}


def test_a_gradient_that_is_filled_with_other_numbers_is_not_cleared():
    source = """w = nn.Linear(2, 1)
opt = torch.optim.SGD(w.parameters(), lr=0.1)
w(torch.ones(1, 2)).sum().backward()
for p in w.parameters():
    p.grad.fill_({value})
opt.step()
"""

    def kinds(value):
        return next(
            e.gradients for e in events(source.format(value=value))[0] if isinstance(e, OptimizerStep)
        )

    assert "zeroed" in kinds(0)
    assert "zeroed" not in kinds(0.01)


def test_lightning_keeps_the_graphs_of_losses_that_a_step_collects():
    def told(value):
        body = f"loss = F.mse_loss(self.net(x), y); self.kept.append({value}); return loss"
        source = LIGHTNING.format(automatic=True, body=body).replace("self.h =", "self.kept = []; self.h =")
        return [code for _, code in findings(HEADER + source)]

    assert told("loss") == ["GL602"]
    assert told("loss.detach()") == []
