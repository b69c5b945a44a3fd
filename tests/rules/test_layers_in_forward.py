"""Layers that a forward makes are never trained (GL327)."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(4, 1)
        self.first = None
        self.layers = nn.ModuleList()

    def forward(self, x):
{body}
        return self.last(x.relu())
"""

MADE = {
    "called where it is made": ["x = nn.Linear(3, 4)(x)"],
    "called by a name": ["layer = nn.Linear(3, 4).to(x.device)", "x = layer(x)"],
    "part of a sequence": ["x = nn.Sequential(nn.ReLU(), nn.Conv1d(3, 4, 1))(x)"],
    "in a loop": ["for size in (2, 3):", "    x = torch.nn.Conv1d(4, 4, size)(x)"],
}

RIGHT = {
    "kept for the next call": [
        "if self.first is None:",
        "    self.first = nn.Linear(3, 4)",
        "x = self.first(x)",
    ],
    "kept in a list": ["layer = nn.Linear(3, 4)", "self.layers.append(layer)", "x = layer(x)"],
    "has nothing to train": ["x = nn.MaxPool1d(3)(nn.ReLU()(x))"],
    "is a fixed filter": [
        "layer = nn.Conv1d(3, 4, 1)",
        "layer.weight.requires_grad_(False).fill_(1)",
        "x = layer(x)",
    ],
    "is no layer of torch": ["x = blocks.Linear(3, 4)(x)"],
}


def codes(lines: list[str]) -> list[str]:
    body = "\n".join(f"        {line}" for line in lines)
    return [finding.code for finding in told(HEAD + NET.format(body=body))]


@pytest.mark.parametrize("lines", MADE.values(), ids=MADE.keys())
def test_a_layer_that_is_forgotten_is_reported(lines: list[str]) -> None:
    assert codes(lines) == ["GL327"]


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_kept_or_not_trained_is_not(lines: list[str]) -> None:
    assert codes(lines) == []
