"""Methods that convert tensors."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, each
from tests.open_programs import HEAD, told

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "to sparse and back": """
import torch
x = torch.rand(3, 3, requires_grad=True)
x.exp().to_sparse().to_dense().sum().backward()
x.mul_(2)  # raises
""",
    "to double copy": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
z = y.to(torch.float64)
z.zero_()
y.sum().backward()
""",
    "to the type that it has": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
z = y.type(torch.FloatTensor).type("torch.FloatTensor")
z.zero_()
y.sum().backward()  # raises
""",
    "to the type of what it was computed from": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
z = y.type_as(x).to(x).to(x.dtype)
z.zero_()
y.sum().backward()  # raises
""",
    "to the type of what it was computed from, and half in between": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.half().exp()
z = y.type_as(x)
z.zero_()
y.sum().backward()
""",
    "the layout of what is transposed in place": """
import torch
w = torch.rand(2, 3, requires_grad=True)
y = w * 2
y.t_()
z = y.reshape(6)
s = z.pow(2)
y.add_(1)
s.sum().backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


TRAINED = """
class Trainer:
    def __init__(self, net, data):
        self.net, self.data = net, data
        self.optimizer = torch.optim.Adam(net.parameters())

    def train(self):
        for x, y in self.data:
            out = self.net(x)
            seen = torch.ones(4).{asked}
            F.mse_loss(out, y).backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    "asked", ["resize(2, 2)", "resize_as(y)", "to_dense()", "is_pinned()", "dense_dim()"]
)
def test_what_a_tensor_is_asked_of_itself_changes_no_gradients_elsewhere(asked: str) -> None:
    assert [finding.code for finding in told(HEAD + TRAINED.format(asked=asked))] == ["GL401"]


def test_the_memory_may_be_the_same_in_another_shape() -> None:
    source = "w = torch.ones(4, requires_grad=True)\nseen = w.exp()\n"
    assert told(f"{HEAD}{source}seen.resize(2, 2).zero_()\nseen.sum().backward()\n") == []
    changed = told(f"{HEAD}{source}shaped = seen.resize(2, 2)\nseen.zero_()\nshaped.sum().backward()\n")
    assert [finding.code for finding in changed] == ["GL201"]
