"""Layers of `torch.nn`: what they save, and what they carry over."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, each
from tests.open_programs import HEAD, Open, check_open, check_quiet, told

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a layer applied twice with a step in between": """
import torch
from torch import nn
a, b = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD(b.parameters(), lr=0.1)
x = torch.ones(1, 2)
first, second = b(a(x)).sum(), b(a(x)).sum()
first.backward()
opt.step()
second.backward()  # raises
""",
    "one layer alone does not save its weight": """
import torch
from torch import nn
b = nn.Linear(2, 1)
opt = torch.optim.SGD(b.parameters(), lr=0.1)
x = torch.ones(1, 2)
first, second = b(x).sum(), b(x).sum()
first.backward()
opt.step()
second.backward()
""",
    "lstm states detached both": """
import torch
lstm = torch.nn.LSTM(2, 3)
state = None
for _ in range(2):
    out, state = lstm(torch.rand(4, 1, 2), state)
    out.sum().backward()
    state = tuple(s.detach() for s in state)
""",
    "a layer that drops nothing returns what it gets": """
import torch
a = torch.ones(3, requires_grad=True).exp()
torch.nn.AlphaDropout(0.0)(a).add_(1)
a.sum().backward()  # raises
""",
    "a layer that drops nothing and gets a list": """
import torch
a = torch.ones(3, requires_grad=True).exp()
try:
    torch.nn.Dropout(0.0)([a, a])
except TypeError:
    a.add_(1)
a.sum().backward()  # raises
""",
    "a layer that drops something returns a copy": """
import torch
a = torch.ones(3, requires_grad=True).exp()
torch.nn.Dropout(0.5)(a).add_(1)
a.sum().backward()
""",
    "an embedding of given vectors is frozen": """
import torch
from torch import nn
vectors = torch.rand(5, 3)
tuned = nn.Embedding.from_pretrained(vectors.clone(), freeze=False)
tuned(torch.tensor([0, 2])).sum().backward()
kept = nn.Embedding.from_pretrained(vectors)
kept(torch.tensor([0, 2])).sum().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


DROPOUT = Open(
    HEAD
    + """
class Attention(nn.Module):
    def __init__(self, dim, rate: float):
        super().__init__()
        self.project = nn.Linear(dim, dim)
        self.drop = nn.Dropout(rate, inplace=True)

    def forward(self, x):
        weights = (x @ self.project(x).transpose(-2, -1)).softmax(-1)
        return self.drop(weights) @ x  # <- GL201
""",
    "inplace=True",
    "inplace=False",
    "Attention(2, 0.5)(torch.ones(1, 3, 2)).sum().backward()",
    ("`self.drop` drops something: its rate is not 0",),
)


def test_dropout_whose_rate_is_an_argument_drops_something() -> None:
    pytest.importorskip("torch")
    check_open(DROPOUT)


def test_dropout_that_is_off_unless_it_is_asked_for_may_stay_off() -> None:
    check_quiet(DROPOUT.wrong.replace("rate: float", "rate: float = 0.0").replace("# <- GL201", ""))


def test_a_weight_that_is_unknown_may_require_a_gradient() -> None:
    program = """
from elsewhere import make_weight

layer = nn.Linear(3, 1, bias=False)
layer.weight = make_weight()
layer(torch.ones(2, 3)).sum().backward()
"""
    check_quiet(program)


def test_a_size_that_is_given_is_no_tensor() -> None:
    program = """
class Judge(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.score = nn.Linear(3, width, bias=False)
        for parameter in self.parameters():
            parameter.requires_grad = False

    def forward(self, x):
        return self.score(x.data).sum()

def fit(net, batches, optimizer):
    judge = Judge()
    for batch in batches:
        optimizer.zero_grad()
        judge(net(batch)).backward()
        optimizer.step()
"""
    assert [finding.code for finding in told(HEAD + program)] == ["GL501"]
