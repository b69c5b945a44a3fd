"""`checkpoint` and `deepcopy`."""

from __future__ import annotations

import torch

from tests.cases import HEADER, check_agreement, check_raises, check_runs, each
from tests.differential.judge import predict
from tests.differential.oracle import run

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "deepcopy of a module gives leaves of its own": """
import copy
import torch
from torch import nn
a = nn.Linear(2, 1)
b = copy.deepcopy(a)
loss = a(torch.ones(1, 2)).sum()
with torch.no_grad():
    for p in b.parameters():
        p.zero_()
loss.backward()
""",
    "a reentrant checkpoint hands out its constants with a history": """
import torch
from torch.utils.checkpoint import checkpoint
w = torch.ones(3, requires_grad=True)
other = torch.ones(3, requires_grad=True)
ones = checkpoint(lambda a: torch.ones_like(a), w, use_reentrant=True)
torch.autograd.grad(ones, other, torch.ones(3), allow_unused=True)
""",
    "checkpoint nonreentrant twice": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=False).sum()
y.backward()
y.backward()  # raises
""",
    "checkpoint reentrant grad call": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True).sum()
torch.autograd.grad(y, x)  # raises
""",
    "checkpoint nonreentrant grad call": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=False).sum()
torch.autograd.grad(y, x)
""",
    "checkpoint reentrant inputs argument": """
import torch
from torch.utils.checkpoint import checkpoint
x = torch.rand(3, requires_grad=True)
y = checkpoint(torch.exp, x, use_reentrant=True).sum()
y.backward(inputs=[x])  # raises
""",
}

# Programs that raise.
RAISING = {
    "a checkpoint saves its inputs": """
h = w * 2.0
y = checkpoint(torch.exp, h, use_reentrant=False)
h.mul_(2.0)
y.sum().backward()
""",
    "a reentrant checkpoint saves its inputs, whatever it computes": """
y = checkpoint(lambda a: a + 1.0, w, use_reentrant=True)
y.sum().backward()
y.exp().sum().backward()
""",
    "a view that a reentrant checkpoint returns forbids writes": """
h = w * 1.0
y = checkpoint(lambda a: a.view(3), h, use_reentrant=True)
y.mul_(2.0)
""",
    "a view that a reentrant checkpoint returns forbids writes to its base": """
h = w * 1.0
y = checkpoint(lambda a: a.view(3), h, use_reentrant=True)
h.mul_(2.0)
y.sum().backward()
""",
    "a checkpoint that is not reentrant saves inference tensors": """
with torch.inference_mode():
    x = torch.ones(3)
y = checkpoint(torch.exp, x, use_reentrant=False)
""",
    "a reentrant checkpoint saves inference tensors where another input trains": """
with torch.inference_mode():
    x = torch.ones(3)
y = checkpoint(torch.add, x, w, use_reentrant=True)
""",
}

# Programs that run.
RUNNING = {
    "a class that decides itself what a copy has": """
import copy
class Cached(nn.Linear):
    def forward(self, x):
        self.cache = super().forward(x)
        return self.cache
    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "cache"}
net = Cached(3, 2)
net(m).sum().backward()
copy.deepcopy([net])
""",
    "what a table of the program's own says is copied already": """
import copy
y = w * 2
memo = {id(each): each for each in (w, y)}
copy.deepcopy({"result": y}, memo=memo)
copy.deepcopy([y], memo)
""",
    "a checkpoint does not read the history of an input that its function does not use": """
p, q, r = w.unbind()
with torch.no_grad():
    w.add_(1.0)
checkpoint(lambda x: torch.ones(3), p, use_reentrant=False)
""",
    "hooks keep the inputs of checkpoints": """
with torch.autograd.graph.save_on_cpu():
    y = checkpoint(torch.sin, w, use_reentrant=True) + checkpoint(torch.sin, w, use_reentrant=False)
    with torch.no_grad():
        w.add_(1.0)
    y.sum().backward()
""",
    "a checkpoint computes with the weights of its backward": """
net = nn.Linear(3, 3)
y = checkpoint(lambda a: net(torch.tanh(net(a))), m, use_reentrant=False)
with torch.no_grad():
    net.weight.mul_(0.5)
y.sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_a_checkpoint_recomputes_with_the_weights_that_a_step_has_changed():
    step = "opt.step()\n"
    source = f"""{HEADER}
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
opt = torch.optim.SGD(net.parameters(), lr=1.0)
net(m).sum().backward()
y = checkpoint(net, m, use_reentrant=False)
opt.zero_grad(set_to_none=False)
y.sum().backward()
"""
    changed = source.replace("opt.zero_grad", f"{step}opt.zero_grad")
    right, wrong = (run(text).gradients[-1][1]["net.0.weight"] for text in (source, changed))
    assert not torch.allclose(right, wrong)
    assert predict(changed).silent == {len(changed.splitlines())}
    assert not predict(source).silent
