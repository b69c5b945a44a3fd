"""Operations by name and by operator: all ways to call one do the same."""

from __future__ import annotations

import pytest

from tests.cases import Fact, check_known, each
from tests.open_programs import HEAD, check_quiet, told
from tests.running import happened

FACTS = {
    "a function and a method": Fact(
        """\
x = torch.exp(w)
y = w.exp()""",
        "x.requires_grad and y.requires_grad and x.shape == y.shape",
    ),
    "an operator": Fact("x = 2 * w + 1", "x.requires_grad and not x.is_leaf"),
    "a comparison is not differentiable": Fact("x = w > 0", "not x.requires_grad"),
    "a matrix product": Fact("x = torch.ones(3, 2) @ w", "x.shape == (3,) and x.requires_grad"),
    "keywords": Fact("x = torch.sum(input=w, dim=0, keepdim=True)", "x.shape == (1,) and x.requires_grad"),
}


ANNEALED = """
class Attention(nn.Module):
    def __init__(self, channels, {temperature}, steps=3000):
        super().__init__()
        self.score = nn.Linear(channels, 4)
        self.temperature = temperature
        self.interval = (temperature - 1) / steps

    def forward(self, x):
        scores = self.score(x) / self.temperature
        self.temperature -= self.interval
        return scores.softmax(-1)
"""


@pytest.mark.parametrize("temperature", ["temperature", "temperature=30", "temperature=30.0"])
def test_what_meets_a_tensor_may_be_a_number(temperature: str) -> None:
    program = ANNEALED.format(temperature=temperature)
    check_quiet(program)
    driver = "Attention(3, temperature=30)(torch.randn(2, 3)).sum().backward()\n"
    assert happened(f"{HEAD}{program}{driver}") == (None, "")


def test_what_has_a_method_of_tensors_is_one() -> None:
    program = HEAD + ANNEALED.format(temperature="temperature").replace(
        "        scores =", "        x = self.temperature.exp() * x\n        scores ="
    ).replace("self.interval\n        return", "self.temperature.mean()\n        return")
    assert [finding.code for finding in told(program)] == ["GL201"]


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)
