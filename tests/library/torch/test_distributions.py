"""`torch.distributions`: what a sample, a density and an entropy depend on, and what backward frees of them."""

from __future__ import annotations

import pytest

from tests.cases import HEAD, Mistake, check_agreement, check_correction, check_mistake, each, predicted
from tests.running import happened

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a sample of independent elements, trained by a divergence alone": Mistake(
        HEAD
        + """
from torch.distributions import Independent, Normal, kl_divergence
encoder = nn.Linear(3, 2)
decoder = nn.Linear(2, 3)
x = torch.rand(4, 3)
posterior = Independent(Normal(encoder(x), torch.ones(4, 2)), 1)
prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
code = posterior.sample()  # <- GL506
loss = F.mse_loss(decoder(code), x) + kl_divergence(posterior, prior).mean()
loss.backward()
symptom = not code.requires_grad
""",
        "posterior.sample()",
        "posterior.rsample()",
    ),
}


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)


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
def test_what_is_normalised_on_construction_is_shared(kind: str) -> None:
    source = NORMALISED.format(kind=kind)
    assert predicted(source)[0] == happened(source)[0] == 7


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_backward_raises_as_in_pytorch(kind: str, result: str) -> None:
    source = PROGRAM.format(kind=kind, result=result)
    line, message = happened(source)
    row, text = predicted(source)
    assert row == line
    assert text in message


def test_what_a_derived_class_gives_to_its_base_is_unknown() -> None:
    check_agreement("""import torch
from torch.distributions import Normal

class Shifted(Normal):
    def __init__(self, loc, scale):
        super().__init__(loc + 1, scale)
    def log_prob(self, value):
        return super().log_prob(value) * 2

mean = torch.zeros(2, requires_grad=True)
Shifted(mean, torch.ones(2)).log_prob(torch.ones(2)).sum().backward()
""")
