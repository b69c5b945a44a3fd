"""Layers of which nothing is known but that a module keeps and calls them."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, check_quiet

OPEN = {
    "a result that a layer has saved, and that goes through a layer out of sight": Open(
        HEAD
        + """
class Block(nn.Module):
    def __init__(self, dim, attention, mixer):
        super().__init__()
        self.attention = attention
        self.mixer = mixer
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm(x))
        x += self.mixer(self.norm(x))  # <- GL201
        return x
""",
        "x += self.mixer(self.norm(x))  # <- GL201",
        "x = x + self.mixer(self.norm(x))",
        "Block(3, nn.Linear(3, 3), nn.Linear(3, 3))(torch.ones(2, 3)).sum().backward()",
        ("`self.mixer` computes from what it is given",),
    ),
    "layers out of sight in a list of modules": Open(
        HEAD
        + """
class Stack(nn.Module):
    def __init__(self, dim, depth, make):
        super().__init__()
        self.blocks = nn.ModuleList([make(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = self.norm(x)
        for block in self.blocks:
            x += block(self.norm(x))  # <- GL201
        return x
""",
        "x += block(self.norm(x))  # <- GL201",
        "x = x + block(self.norm(x))",
        "Stack(3, 2, lambda dim: nn.Linear(dim, dim))(torch.ones(2, 3)).sum().backward()",
    ),
    "a layer out of sight that is called without gradients": Open(
        HEAD
        + """
class Denoising(nn.Module):
    def __init__(self, restorer, strength):
        super().__init__()
        self.restorer, self.strength = restorer, strength

    def loss(self, x):
        noise = torch.randn_like(x)
        with torch.no_grad():
            predicted = self.restorer(x + self.strength * noise)
        return F.mse_loss(predicted, noise)

def train(model, loader, optimizer):
    for x in loader:
        optimizer.zero_grad()
        model.loss(x).backward()  # <- GL501
        optimizer.step()
""",
        "torch.no_grad()",
        "torch.enable_grad()",
        "model = Denoising(nn.Linear(3, 3), 0.1)\n"
        "train(model, torch.ones(2, 4, 3), torch.optim.SGD(model.parameters(), 0.1))",
        ("`self.restorer` computes from what it is given", "`model` is a `Denoising`"),
    ),
    "what a layer out of sight returns is differentiated": Open(
        HEAD
        + """
class Head(nn.Module):
    def __init__(self, dim, project):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.project = project

    def forward(self, x):
        x = torch.sigmoid(self.norm(x))
        x += 1  # <- GL201
        return {"logits": self.project(x)}
""",
        "x += 1  # <- GL201",
        "x = x + 1",
        "Head(3, nn.Linear(3, 3))(torch.ones(2, 3))['logits'].sum().backward()",
        ("`self.project` computes from what it is given",),
    ),
}

# What stands in for a base out of sight.
SURROUNDINGS = """
import torch
class Base(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(depth)])
"""
INHERITED = Open(
    HEAD
    + """
class Stack(Base):
    def __init__(self, depth):
        super().__init__(depth)
        self.embed = nn.Linear(3, 3)

    def forward(self, x):
        x += self.embed(x)  # <- GL201
        for n, block in enumerate(self.blocks):
            x = block(x)
        return x, n
""",
    "x += self.embed(x)  # <- GL201",
    "x = x + self.embed(x)",
    "(Stack(2)(torch.ones(2, 3, requires_grad=True) * 1)[0]).sum().backward()",
)


@pytest.mark.parametrize("case", OPEN.values(), ids=OPEN)
def test_pytorch_agrees(case: Open) -> None:
    check_open(case)


def test_layers_that_a_base_out_of_sight_has_compute() -> None:
    check_open(INHERITED, SURROUNDINGS)


def test_what_a_module_calls_that_is_no_layer_gives_no_graph() -> None:
    check_quiet(
        """
class Matched(nn.Module):
    def __init__(self, dim, matcher):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.matcher = matcher

    def forward(self, x):
        y = self.layer(x)
        rows = self.matcher(y)
        return y, rows.cpu().numpy()
"""
    )
