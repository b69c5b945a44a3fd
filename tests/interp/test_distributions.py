"""What distributions compute frees something in backward, or does not, as it does in PyTorch."""

from __future__ import annotations

import pytest

from tests.interp.test_machine import happened, predicted

KINDS = (
    "Normal(w, 2.0)",
    "Normal(0.5, w)",
    "Normal(loc=0.5, scale=w)",
    "Independent(Normal(w, 2.0), 1)",
    "Laplace(w, torch.ones(3))",
    "Gumbel(torch.ones(3), w)",
    "Uniform(torch.zeros(3), w)",
    "Gamma(w, 2.0)",
    "Beta(w, w)",
    "Exponential(w)",
    "Dirichlet(w)",
    "HalfNormal(w)",
)
RESULTS = (
    "dist.log_prob(torch.ones(3) / 3)",
    "dist.rsample()",
    "dist.entropy()",
    "kl_divergence(dist, dist)",
)
PROGRAM = """
import torch
from torch.distributions import Beta, Dirichlet, Exponential, Gamma, Gumbel, HalfNormal, Independent
from torch.distributions import Laplace, Normal, Uniform, kl_divergence
w = torch.full((3,), 0.75, requires_grad=True)
dist = {kind}
result = {result}.sum() + w.sum()
result.backward()
result.backward()
"""


NORMALISED = """
import torch
from torch.distributions import Categorical, OneHotCategorical
w = torch.full((2, 3), 0.3, requires_grad=True)
dist = {kind}
dist.entropy().sum().backward()
dist.log_prob(dist.sample()).sum().backward()
"""


@pytest.mark.parametrize("kind", ["Categorical(w)", "Categorical(logits=w)", "OneHotCategorical(logits=w)"])
def test_what_is_normalised_at_once_is_shared(kind: str) -> None:
    source = NORMALISED.format(kind=kind)
    assert predicted(source)[0] == happened(source)[0] == 7


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_backward(kind: str, result: str) -> None:
    source = PROGRAM.format(kind=kind, result=result)
    line, message = happened(source)
    foretold, text = predicted(source)
    assert foretold == line
    assert text in message
