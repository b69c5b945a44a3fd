"""Log-probabilities of noise that are right: nothing is reported, and PyTorch has a gradient for each."""

from __future__ import annotations

import pytest

from tests.open_programs import HEAD, told
from tests.running import happened

SAMPLE = (
    HEAD
    + """
from torch.distributions import Normal
def act(mean, std):
    unit = Normal(torch.zeros_like(mean), torch.ones_like(std))
    noise = unit.sample()
    action = mean + std * noise
    log_prob = unit.log_prob(noise).sum(-1)
    return action, log_prob
"""
)
# A driver that fails where the log-probability trains nothing.
TRAINED = """
mean, std = torch.zeros(3, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True)
assert act(mean, std)[1].requires_grad, 'a constant'
"""

RIGHT = {
    "the logarithm of the scale is taken off": ("noise).sum(-1)", "noise).sum(-1) - std.log().sum(-1)"),
    "it is taken off later": ("return action", "log_prob = log_prob - std.log().sum(-1)\n    return action"),
    "the distribution has the parameters": (
        "Normal(torch.zeros_like(mean), torch.ones_like(std))",
        "Normal(mean, std)",
    ),
    "it is that of the result": ("unit.log_prob(noise)", "Normal(mean, std).log_prob(action)"),
}


def test_the_log_probability_of_the_noise_alone_is_found() -> None:
    assert [finding.code for finding in told(SAMPLE)] == ["GL519"]
    pytest.importorskip("torch")
    assert happened(SAMPLE + TRAINED)[1] == "a constant"


@pytest.mark.parametrize("name", RIGHT)
def test_what_depends_on_the_scale_is_quiet(name: str) -> None:
    right = SAMPLE.replace(*RIGHT[name])
    assert right != SAMPLE
    assert told(right) == []
    pytest.importorskip("torch")
    assert happened(right + TRAINED) == (None, "")


def test_the_prior_of_a_model_that_does_not_scale_is_quiet() -> None:
    assert told(SAMPLE.replace("mean + std * noise", "model(noise)")) == []
