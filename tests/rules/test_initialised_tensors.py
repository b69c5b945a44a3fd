"""Plain tensors that `nn.init` gives their values, as if they were weights."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

ATTENTION = (
    HEAD
    + """
class Attention(nn.Module):
    def __init__(self, cell, periods):
        super().__init__()
        self.cell = cell
        self.weights = torch.empty(periods)
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.uniform_(self.weights)

    def forward(self, x):
        shares = F.softmax(self.weights, dim=0)
        return sum(share * self.cell(part) for share, part in zip(shares, x))
"""
)
DRIVER = """
model = Attention(nn.Linear(2, 2), 3)
assert len(list(model.parameters())) == 3, "not trained"
"""


def test_a_weight_that_is_no_parameter_is_found() -> None:
    found = told(ATTENTION)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL313", 10)]
    pytest.importorskip("torch")
    assert happened(ATTENTION + DRIVER)[1] == "not trained"


@pytest.mark.parametrize(
    "made",
    ["torch.zeros(periods, device='cpu')", "torch.Tensor(periods).to('cpu')", "torch.empty(periods).cuda()"],
)
def test_wherever_it_is_made(made: str) -> None:
    found = told(ATTENTION.replace("torch.empty(periods)", made))
    assert [finding.code for finding in found] == ["GL313"]


@pytest.mark.parametrize(
    "made",
    [
        "nn.init.uniform_(torch.empty(periods))",
        "getattr(initializers, 'uniform_')(torch.empty(periods))",
        "torch.nn.init.uniform_(torch.empty(periods), 0.0, 1.0)",
    ],
)
def test_what_an_initialiser_returns_is_kept(made: str) -> None:
    source = "from torch.nn import init as initializers\n" + ATTENTION.replace(
        "nn.init.uniform_(self.weights)", "pass"
    )
    found = told(source.replace("torch.empty(periods)", made))
    assert [finding.code for finding in found] == ["GL313"]
    pytest.importorskip("torch")
    assert happened(source.replace("torch.empty(periods)", made) + DRIVER)[1] == "not trained"


@pytest.mark.parametrize(
    "made",
    [
        "nn.Parameter(nn.init.uniform_(torch.empty(periods)))",
        "getattr(settings, 'uniform_')(torch.empty(periods))",
        "nn.init.calculate_gain('relu') * torch.ones(periods)",
    ],
)
def test_what_else_a_call_returns_is_quiet(made: str) -> None:
    source = "import initial_settings as settings\n" + ATTENTION.replace(
        "nn.init.uniform_(self.weights)", "pass"
    )
    assert told(source.replace("torch.empty(periods)", made)) == []


def test_the_parameter_is_quiet() -> None:
    right = ATTENTION.replace("torch.empty(periods)", "nn.Parameter(torch.empty(periods))")
    assert told(right) == []
    pytest.importorskip("torch")
    assert happened(right + DRIVER) == (None, "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.weights = torch.empty(periods)", "self.register_buffer('weights', torch.empty(periods))"),
        (
            "self.reset_parameters()",
            "self.reset_parameters()\n        self.weights = nn.Parameter(self.weights)",
        ),
        ("(self.weights, dim=0)", "(self.cell.weight, dim=0)"),
        ("shares = ", "self.weights.mul_(0.9)\n        shares = "),
        ("shares = ", "self.weights[0] = 1.0\n        shares = "),
        ("self.weights = torch.empty(periods)", "self.weights = made_elsewhere(periods)"),
        ("class Attention(nn.Module)", "class Attention"),
        ("        return sum(", "        self.weights.requires_grad = True\n        return sum("),
    ],
)
def test_what_is_registered_or_kept_up_by_hand_is_quiet(old: str, new: str) -> None:
    assert old in ATTENTION
    assert told(ATTENTION.replace(old, new)) == []
