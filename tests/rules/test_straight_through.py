"""Straight-through estimates, in functions that nothing calls."""

from __future__ import annotations

import pytest

from gradcheck_tool.analysis.program import check_source
from tests.running import RULES, happened

HEAD = "import torch\n\ndef quantize(x, codes, m):\n    q = torch.round(x)\n    return "


@pytest.mark.parametrize("text", ["x + (q.detach() - x)", "(q.detach() - x) + x", "x + (codes.detach() - x)"])
def test_gradients_that_cancel(text: str) -> None:
    assert [finding.code for finding in check_source(HEAD + text + "\n", "program.py", RULES)] == ["GL518"]


@pytest.mark.parametrize(
    "text",
    [
        "x + (q - x).detach()",
        "x + (codes - x)",
        "codes + (q.detach() - x)",
        "x + m * (q.detach() - x)",
        "q.detach() - x",
    ],
)
def test_gradients_that_pass(text: str) -> None:
    assert check_source(HEAD + text + "\n", "program.py", RULES) == []


def test_a_difference_that_is_an_amount_of_its_own_is_no_estimate() -> None:
    """A perturbation, which is clipped before it is added again."""
    clipped = (
        "amount = q.detach() - x\n    if m:\n        amount = amount.clamp(-m, m)\n    return x + amount"
    )
    assert check_source(HEAD.replace("return ", clipped) + "\n", "program.py", RULES) == []


@pytest.mark.parametrize("method", ["ceil", "floor", "round", "sign", "trunc"])
def test_what_only_tensors_can_do_shows_that_a_value_is_one(method: str) -> None:
    text = HEAD.replace("torch.round(x)", f"x.{method}()") + "x + (q - x)\n"
    assert [finding.code for finding in check_source(text, "program.py", RULES)] == ["GL518"]


CODEBOOK = """
import torch
from torch import nn
class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Embedding(8, 2)

    def forward(self, z):
        index = torch.cdist(z, self.codes.weight).argmin(-1)
        q = self.codes(index)
        return z + (q - z), index
"""


def test_nothing_passes_to_what_is_quantized_by_trained_codes() -> None:
    found = check_source(CODEBOOK, "program.py", RULES)
    assert [(finding.code, finding.location.start.row) for finding in found] == [("GL518", 12)]
    assert check_source(CODEBOOK.replace("(q - z)", "(q - z).detach()"), "program.py", RULES) == []
    run = "z = torch.ones(3, 2, requires_grad=True)\nQuantizer()(z)[0].sum().backward()\n"
    assert happened(f"{CODEBOOK}{run}assert not z.grad.any()\n") == (None, "")
