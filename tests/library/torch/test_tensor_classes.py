"""Classes of the program that derive from tensors."""

from __future__ import annotations

from tests.cases import check_agreement, check_right, each

HEAD = """
import torch
class Plain(torch.nn.Parameter):
    @property
    def bits(self):
        return 8
class Tagged(torch.Tensor):
    def __new__(cls, data, requires_grad=False):
        made = torch.Tensor._make_subclass(cls, data.data, requires_grad)
        made.tag = "tagged"
        return made
class TaggedParameter(Tagged, torch.nn.Parameter):
    def __new__(cls, data, requires_grad=True):
        made = Tagged._make_subclass(cls, Tagged(data), requires_grad)
        made.tag = "trained"
        return made
    def doubled(self):
        return self * 2
"""

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a class that adds nothing to how a Parameter is made": """
w = Plain(torch.ones(2))
w += w.bits  # raises
""",
    "such a Parameter that is frozen": """
w = Plain(torch.ones(2), requires_grad=False)
w += 1
(w * 2).sum().backward()  # raises
""",
}

RIGHT = {
    "a Parameter that `__new__` makes is trained by its rows": """
w = TaggedParameter(torch.ones(4, 2))
opt = torch.optim.SparseAdam([w], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    rows = torch.nn.functional.embedding(torch.tensor([1, 2]), w, sparse=True)
    rows.sum().backward()
    opt.step()
""",
    "in a module": """
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = TaggedParameter(torch.ones(2))
    def forward(self, x):
        return torch.nn.functional.linear(x, self.w.doubled())
net = Layer()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 4, 2):
    opt.zero_grad()
    net(x).exp().sum().backward()
    opt.step()
""",
    "a tensor that `__new__` makes": """
w = torch.ones(2, requires_grad=True)
(torch.dot(Tagged(torch.ones(2)), w) * 2).backward()
""",
}


@each(PROGRAMS)
def test_the_model_agrees_with_pytorch(program: str) -> None:
    check_agreement(HEAD + program)


@each(RIGHT)
def test_right_programs(program: str) -> None:
    check_right(HEAD + program)
