"""Calls: arguments are bound as Python binds them, and the body runs in a frame of its own."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "arguments that a generator gives one by one": """
import random
from collections import namedtuple
import torch
Step = namedtuple("Step", "obs reward")
memory = [Step(torch.ones(2), torch.zeros(1)) for _ in range(8)]
batch = random.sample(memory, 4)
rows = Step(*(torch.stack(column) for column in zip(*batch)))
w = torch.ones(2, requires_grad=True)
loss = (rows.obs * w * w).sum()
loss.backward()
loss.backward()  # raises
""",
    "a method that calls a lambda does not return it": """
import torch
unseen = vars(torch)
net = unseen["nn"].Linear(2, 1)._apply(lambda x: x)
net(torch.ones(1, 2)).sum().backward()
known = torch.nn.Linear(2, 1)
known = known._apply(lambda x: x)
loss = known(torch.ones(1, 2)).exp().sum()
loss.backward()
""",
    "functools.partial and a dictionary of functions": """
import functools
import torch
def scale(x, by):
    return x.mul_(by)
table = {"half": functools.partial(scale, by=0.5)}
w = torch.ones(2, requires_grad=True)
table["half"](w)  # raises-inside
""",
    "unpacking, star arguments and keywords": """
import torch
def pair(*parts, scale=1.0, **rest):
    first, *others = parts
    return first * scale, others[0]
w = torch.ones(2, requires_grad=True)
a, b = pair(w, w, **{"scale": 2.0})
b.add_(1)  # raises
""",
    "default argument graph": """
import torch
w = torch.rand(3, requires_grad=True)
def penalty(scale=w.exp()):
    return (scale * 2).sum()
penalty().backward()
penalty().backward()  # raises
""",
    "nonlocal counter": """
import torch
w = torch.rand(3, requires_grad=True)
def make():
    state = torch.zeros(3)
    def step():
        nonlocal state
        state = torch.tanh(state + w)
        return state.sum()
    return step
step = make()
step().backward()
step().backward()  # raises
""",
    "nonlocal detached": """
import torch
w = torch.rand(3, requires_grad=True)
def make():
    state = torch.zeros(3)
    def step():
        nonlocal state
        state = torch.tanh(state.detach() + w)
        return state.sum()
    return step
step = make()
step().backward()
step().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
