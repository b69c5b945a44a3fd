"""Base classes of torch.nn's layers: what their constructors leave, and which layers derive from them."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.nn.modules import batchnorm, conv, dropout, instancenorm, loss, pooling, rnn

from gradcheck_tool.library.torch.layer_bases import base_spec, derives
from tests.cases import check_agreement, check_right, each

BASES = [
    *(loss._Loss, loss._WeightedLoss, conv._ConvNd, conv._ConvTransposeNd),
    *(batchnorm._NormBase, batchnorm._BatchNorm, instancenorm._InstanceNorm),
    *(rnn.RNNBase, rnn.RNNCellBase, dropout._DropoutNd, pooling._MaxPoolNd, pooling._AdaptiveAvgPoolNd),
]
LAYERS = [cls for cls in vars(torch.nn).values() if inspect.isclass(cls) and issubclass(cls, torch.nn.Module)]


@pytest.mark.parametrize("base", BASES)
def test_a_constructor_takes_what_the_one_of_torch_takes(base: type) -> None:
    spec = base_spec(f"torch.nn.{base.__name__}")
    assert spec is not None
    taken = [name for name in inspect.signature(base).parameters if name not in ("device", "dtype")]
    assert list(spec.params) == taken


@pytest.mark.parametrize("base", BASES)
def test_layers_derive_from_their_bases_alone(base: type) -> None:
    found = {cls for cls in LAYERS if derives(f"torch.nn.{cls.__name__}", f"torch.nn.{base.__name__}")}
    assert found | {base} == {cls for cls in LAYERS if issubclass(cls, base)} | {base}


LOSS = """
import torch
from torch import nn
from torch.nn.modules.loss import _Loss

class Wasserstein(_Loss):
    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)
    def forward(self, x, y):
        distance = (x - y).pow(2).sum(1)
        if self.reduction == "mean":
            return distance.mean()
        return distance

x = torch.ones(3, 2, requires_grad=True)
"""
NORM = """
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

class Frozen(_BatchNorm):
    def _check_input_dim(self, x):
        pass
"""

RIGHT = {
    "the reduction of a loss": LOSS + "Wasserstein()(x, torch.zeros(3, 2)).backward()\n",
    "the parameters of a norm": NORM
    + """
norm = Frozen(3)
optimizer = torch.optim.SGD(norm.parameters(), lr=0.1)
for _ in range(2):
    loss = (norm.weight * 2 + norm.bias).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "layers that are told by their base": """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
frozen = 0
for layer in net.modules():
    if isinstance(layer, nn.modules.batchnorm._BatchNorm):
        layer.weight.requires_grad_(False)
        layer.weight.zero_()
""",
}
# Programs that raise.
RAISING = {
    "a loss that is not reduced": LOSS + "Wasserstein('none')(x, torch.zeros(3, 2)).backward()  # raises\n",
    "a loss whose old flag says that it is not reduced": LOSS
    + "nn.MSELoss(reduce=False)(x, torch.zeros(3, 2)).backward()  # raises\n",
    "a parameter of a norm that is written to": NORM + "Frozen(3).weight.fill_(0.5)  # raises\n",
}


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(RAISING)
def test_what_raises_is_foretold(program: str) -> None:
    check_agreement(program)
