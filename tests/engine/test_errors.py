"""The texts with which the model raises are those that PyTorch raises with."""

from __future__ import annotations

import pytest
import torch

from gradcheck_tool.domain.events import NonScalarRoot, Site
from gradcheck_tool.domain.graph import Storage, Tensor
from gradcheck_tool.domain.state import State
from gradcheck_tool.engine import errors
from tests.running import events

START = """
import torch
from torch.utils.checkpoint import checkpoint
w = torch.ones(2, 2, requires_grad=True)
h = w * 1
"""
PROGRAMS = {
    "LEAF_WRITE": "w.add_(1)",
    "LEAF_VIEW_WRITE": "w[0].add_(1)",
    "MULTI_VIEW": "h.unbind()[0].add_(1)",
    "MULTI_VIEW_BASE": "row = h.unbind()[0]\nh.add_(1)\nrow.sum()",
    "NO_GRAD_VIEW": "with torch.no_grad(): row = h[0]\nrow.mul_(w[0])",
    "INFERENCE_WRITE": "with torch.inference_mode(): t = torch.ones(2)\nt.add_(1)",
    "OVERLAP": "torch.ones(1).expand(3).add_(1)",
    "INFERENCE_SAVE": "with torch.inference_mode(): t = torch.ones(2)\nt * w",
    "TWICE": "y = w.exp().sum()\ny.backward()\ny.backward()",
    "MODIFIED": "y = h.exp()\ny.add_(1)\ny.sum().backward()",
    "NON_SCALAR": "h.backward()",
    "NOT_REAL": "torch.ones((), dtype=torch.cfloat, requires_grad=True).exp().backward()",
    "UNUSED": "torch.autograd.grad(h.sum(), torch.ones(2, requires_grad=True))",
    "REENTRANT": "torch.autograd.grad(checkpoint(torch.exp, h, use_reentrant=True).sum(), h)",
    "NOT_REQUIRED": "torch.autograd.grad(h.sum(), torch.ones(2))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_pytorch_says_what_the_model_says(name: str) -> None:
    text = getattr(errors, name)
    with pytest.raises(RuntimeError) as raised:
        exec(compile(START + PROGRAMS[name], name, "exec"), {})
    assert text.partition("{}")[0] in str(raised.value)


def test_a_refused_call_tells_where_its_tensor_was_made() -> None:
    s = State()
    tensor = Tensor(s.new(Storage()))
    tensor.name, tensor.site = "w", Site(None, "where w is made")
    here = Site(None, "the call")
    raised = errors.refused(
        here, tensor, "`w` is a leaf", errors.LEAF_WRITE, "leaf", "w.add_(1)", "TypeError"
    )
    assert raised.kind == "TypeError"
    assert raised.event is not None
    assert (raised.event.site, raised.event.text) == (here, errors.LEAF_WRITE)
    assert [(step.site, step.message) for step in raised.event.story] == [(tensor.site, "`w` is a leaf")]
    assert torch.is_grad_enabled()


CALLED = """
import torch

class Critic(torch.nn.Linear):
    def forward(self, x):
        x = super().forward(x)
        return x

def train(critic, optimizer, x):
    score = critic(x)
    score.backward()
    optimizer.step()

critic = Critic(2, 2)
train(critic, torch.optim.SGD(critic.parameters(), lr=0.1), torch.ones(1, 2))
"""


def test_a_tensor_is_called_what_the_running_function_calls_it() -> None:
    (event,) = events(CALLED, NonScalarRoot)
    assert event.root == "score"
    (made,) = event.story
    assert made.message == "`x` is made here"
