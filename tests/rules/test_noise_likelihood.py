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


SQUASHED = (
    HEAD
    + """
from torch.distributions import Normal

class Policy(nn.Module):
    def __init__(self, body, mean, scale):
        super().__init__()
        self.body, self.mean, self.scale = body, mean, scale

    def forward(self, state, epsilon=1e-6):
        hidden = F.relu(self.body(state))
        mean, std = self.mean(hidden), F.softplus(self.scale(hidden))
        unit = Normal(0, 1)
        noise = unit.sample(mean.shape)
        action = torch.tanh(mean + std * noise)
        log_prob = unit.log_prob(noise) - torch.log(1 - action.pow(2) + epsilon)
        return action, log_prob.sum(-1)
"""
)
# The density of a narrower distribution is higher.
DENSITY = """
mean, scale = nn.Linear(2, 1), nn.Linear(2, 1)
policy = Policy(nn.Linear(2, 2), mean, scale)
nn.init.zeros_(mean.weight), nn.init.zeros_(mean.bias), nn.init.zeros_(scale.weight)
dense = []
for bias in (-4.0, -2.0):
    nn.init.constant_(scale.bias, bias)
    torch.manual_seed(0)
    dense.append(policy(torch.ones(5, 2))[1].mean().item())
assert dense[0] > dense[1] + 1, "the scale does not count"
"""


def test_the_correction_of_tanh_does_not_make_up_for_the_scale() -> None:
    assert [finding.code for finding in told(SQUASHED)] == ["GL519"]
    pytest.importorskip("torch")
    assert happened(SQUASHED + DENSITY)[1] == "the scale does not count"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("unit.log_prob(noise)", "Normal(mean, std).log_prob(mean + std * noise)"),
        ("return action", "log_prob = log_prob - std.log()\n        return action"),
        ("unit.log_prob(noise) -", "unit.log_prob(noise) - std.log() -"),
        ("action.pow(2) + epsilon)", "action.pow(2) + epsilon) - torch.log(std)"),
    ],
)
def test_the_logarithm_of_the_scale_does(old: str, new: str) -> None:
    assert old in SQUASHED
    right = SQUASHED.replace(old, new)
    assert told(right) == []
    pytest.importorskip("torch")
    assert happened(right + DENSITY) == (None, "")


def test_noise_that_randn_has_drawn_is_found() -> None:
    drawn = SAMPLE.replace("noise = unit.sample()", "noise = torch.randn_like(mean)")
    assert [finding.code for finding in told(drawn)] == ["GL519"]
    pytest.importorskip("torch")
    assert happened(drawn + TRAINED)[1] == "a constant"
    assert told(drawn.replace("torch.randn_like", "self.noise")) == []
