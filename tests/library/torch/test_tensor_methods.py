"""Methods of tensors: `detach`, `retain_grad`, `resize_`, `set_`."""

from __future__ import annotations

from tests.cases import check_agreement, check_raises, check_right, check_runs, each
from tests.open_programs import check_quiet

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "view of detached write saved": """
import torch
x = torch.rand(3, requires_grad=True)
y = x.exp()
y.detach().view(-1)[0] = 0
y.sum().backward()  # raises
""",
}

# Right programs.
RIGHT = {
    "scores are shifted by a statistic of their own": """
import torch
from torch import nn

net = nn.Linear(3, 3)
scores = net(torch.rand(4, 3)).cumsum(1)
scores -= scores.detach().mean()
scores.sum().backward()
""",
}

# Programs that raise.
RAISING = {
    "what detach() returns of an expanded tensor shares its elements' memory": """
with torch.no_grad():
    w.expand(2, 3).detach().add_(1.0)
""",
    "retain_grad reads the history of a view": """
a, b = m.unbind()
with torch.no_grad():
    m.mul_(2.0)
b.retain_grad()
""",
    "set_ has no derivative": """
h = w * 1.0
h.set_(torch.rand(3))
h.sum().backward()
""",
    "what was saved and is detached in place since": """
h = w * 1.0
y = (h * h).sum()
h.detach_()
y.backward()
""",
}

# Programs that run.
RUNNING = {
    "retain_grad a second time does not read the history": """
p, q, r = w.unbind()
p.retain_grad()
with torch.no_grad():
    w.add_(1.0)
p.retain_grad()
""",
    "a result that was saved is no longer the tensor that is detached": """
h = (w * 1.0).exp()
y = h.sum()
h.detach_()
y.backward()
""",
    "detach_ in inference mode keeps the leaf": """
with torch.inference_mode():
    w.detach_()
w.sum().backward()
""",
    "resize_ to the same size writes nothing": """
c = torch.rand(3)
y = (w * c).sum()
c.resize_(3)
y.backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RIGHT)
def test_nothing_is_found_in_right_programs(program: str) -> None:
    check_right(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_the_function_detach_is_the_method() -> None:
    check_quiet(
        """
class Net(nn.Module):
    def __init__(self, dim, use_bias):
        super().__init__()
        self.bias = nn.Linear(dim, 1) if use_bias else None
    def forward(self, context, mask, f0=None):
        bias = 0
        if self.bias is not None:
            bias = torch.relu(self.bias(context))[:, 0]
        target = torch.detach(f0.clone() * mask + bias)
        target[mask.bool()] = torch.log(target[mask.bool()])
        return target / 6
"""
    )
