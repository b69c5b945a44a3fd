"""Attributes of tensors that a statement itself makes and drops (GL212)."""

from __future__ import annotations

import pytest

from tests.cases import Mistake, check_correction, check_mistake, each
from tests.open_programs import HEAD, told

MISTAKES = {
    "data of a part": Mistake(
        HEAD
        + """
w = nn.Parameter(torch.ones(3, 2))
w[0].data = torch.zeros(2)  # <- GL212
symptom = w.sum() == 6
""",
        "w[0].data =",
        "w.data[0] =",
    ),
    "data of another shape": Mistake(
        HEAD
        + """
net = nn.Linear(3, 2)
net.weight.view(-1).data = torch.zeros(6)  # <- GL212
symptom = bool(net.weight.any())
""",
        "net.weight.view(-1).data = torch.zeros(6)",
        "net.weight.data = torch.zeros(2, 3)",
    ),
    "the gradient of a copy": Mistake(
        HEAD
        + """
w = nn.Parameter(torch.ones(3))
w.detach().grad = torch.ones(3)  # <- GL212
symptom = w.grad is None
""",
        "w.detach().grad",
        "w.grad",
    ),
    "the flag of a part": Mistake(
        HEAD
        + """
x = torch.ones(3, 2)
x[0].requires_grad = True  # <- GL212
symptom = not x.requires_grad
""",
        "x[0].requires",
        "x.requires",
    ),
}

RIGHT = {
    "a list of parameters": "ws = [nn.Parameter(torch.ones(2))]\nws[0].data = torch.zeros(2)",
    "a list of torch": "ws = nn.ParameterList([torch.ones(2)])\nws[0].data = torch.zeros(2)",
    "in place": "w = nn.Parameter(torch.ones(2))\nw[0].data += 1\nw[1].data.fill_(0)",
    "a variable": "w = torch.ones(2, 2)\nrow = w[0]\nrow.data = torch.zeros(2)\nprint(row)",
    "what a function has": """
def weight_of(net):
    return net.weight

weight_of(nn.Linear(2, 2)).data = torch.zeros(2, 2)
""",
    "what is given": "def fill(ws, value):\n    for i in range(len(ws)):\n        ws[i].data = value",
}


@each(MISTAKES)
def test_a_lost_write_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not(program: Mistake) -> None:
    check_correction(program)


@pytest.mark.parametrize("program", RIGHT.values(), ids=RIGHT.keys())
def test_what_is_kept_is_not(program: str) -> None:
    assert "GL212" not in [finding.code for finding in told(HEAD + program)]
