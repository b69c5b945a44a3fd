"""`nn.init`, gradient clipping and other functions over parameters."""

from __future__ import annotations

from tests.cases import check_raises, check_wrong_gradients, each
from tests.running import findings

# Programs that raise.
RAISING = {
    "nn.init checks before it writes": """
with torch.inference_mode():
    x = torch.zeros(3)
nn.init.constant_(x, 0.3)
""",
    "a factor before the tensor that it is for": """
p = nn.Parameter(torch.ones(3))
p.add_(-0.1, torch.ones(3))
""",
    "factors before the tensors that they are for": """
p = nn.Parameter(torch.ones(3))
p.addcdiv_(-0.1, torch.ones(3), torch.ones(3))
""",
}

# Programs whose gradients are silently wrong.
WRONG_GRADIENTS = {
    "a vector becomes the parameters of a module": """
net = nn.LayerNorm(3)
y = (net(m) ** 2).sum()
nn.utils.vector_to_parameters(torch.rand(6), net.parameters())
y.backward()
""",
    "a vector becomes the parameters": """
y = (w * w).sum()
nn.utils.vector_to_parameters(torch.rand(3), [w])
y.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(WRONG_GRADIENTS)
def test_wrong_gradients_are_reported(program: str) -> None:
    check_wrong_gradients(program)


def test_gradients_are_cleared_as_long_ago() -> None:
    """`zero_gradients` was taken out of PyTorch: what is not known of it may not stay unknown of its argument."""
    program = """
import torch
from torch.autograd.gradcheck import zero_gradients
w = torch.ones(3, requires_grad=True)
zero_gradients(w)
out = w.exp().sum()
out.backward()
out.backward()
"""
    assert findings(program) == [(8, "GL101")]


LAZY = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.parameter.UninitializedParameter()

    def forward(self, x):
        if isinstance(self.weight, torch.nn.parameter.UninitializedParameter):
            self.weight.materialize((x.shape[-1],))
            nn.init.ones_(self.weight)
        out = (x * self.weight).relu()
        {write}
        return out
Scale()(torch.ones(3)).sum().backward()
"""


def test_a_parameter_that_gets_its_size_later_requires_a_gradient() -> None:
    head = "import torch\nfrom torch import nn\n"
    assert [code for _, code in findings(head + LAZY.format(write="out += x"))] == ["GL201"]
    assert findings(head + LAZY.format(write="out = out + x")) == []
