"""Parameters of objects that a function is given, where its code shows that they are layers."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, Open, check_open, told

FOUND = {
    "a test of its class": Open(
        f"""{HEAD}
def init(model):
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            m.weight.fill_(0.5)  # <- GL301
""",
        "m.weight.fill_",
        "m.weight.data.fill_",
        "init(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))",
        ("`m.weight` requires a gradient",),
    ),
    "a Parameter that replaces it": Open(
        f"""{HEAD}
class Detector(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.model = nn.Sequential(*layers)

    def init_biases(self, anchors):
        for m in self.model[-1].heads:
            b = m.bias.view(anchors, -1)
            b[:, 1] += 0.5  # <- GL301
            m.bias = nn.Parameter(b.view(-1), requires_grad=True)

    def forward(self, x):
        return self.model(x)
""",
        "b[:, 1] += 0.5",
        "b.data[:, 1] += 0.5",
        """class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(2, 4)])
Detector([Heads()]).init_biases(2)""",
        ("`m.bias` requires a gradient",),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_writing_to_it_is_found(name: str) -> None:
    pytest.importorskip("torch")
    check_open(FOUND[name])


WRITTEN = FOUND["a test of its class"].wrong.replace("  # <- GL301", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def init(", "@torch.no_grad()\ndef init("),
        ("            m.weight", "            m.requires_grad_(False)\n            m.weight"),
        ("    for m in", "    model.requires_grad_(False)\n    for m in"),
        ("            m.weight", "            m.weight.requires_grad = False\n            m.weight"),
        ("(nn.Conv2d, nn.Linear)", "(nn.Linear, nn.ReLU)"),
        ("(nn.Conv2d, nn.Linear)", "(nn.Linear, Block)"),
        ("m.weight.fill_", "m.scale.fill_"),
        ("            m.weight.fill_(0.5)", "            nn.init.zeros_(m.weight)"),
        ("if isinstance", "if not isinstance"),
    ],
)
def test_what_may_be_frozen_or_no_parameter_is_quiet(old: str, new: str) -> None:
    assert old in WRITTEN
    assert told(WRITTEN.replace(old, new)) == []
