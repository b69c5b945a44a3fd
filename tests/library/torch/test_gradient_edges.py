"""`torch.autograd.graph.get_gradient_edge`."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "gradient edge of a freed graph": """
import torch
from torch.autograd.graph import get_gradient_edge
x = torch.rand(3, requires_grad=True)
y = x.exp()
edge = get_gradient_edge(y)
loss = y.pow(3).sum()
loss.backward()
torch.autograd.grad(loss, edge)  # raises
""",
    "gradient edge of what is written later": """
import torch
from torch.autograd.graph import get_gradient_edge
x = torch.rand(3, requires_grad=True)
y = x * 2
edges = [get_gradient_edge(y), get_gradient_edge(x)]
y.mul_(3)
loss = y.pow(3).sum()
torch.autograd.grad(loss, edges, retain_graph=True)
torch.autograd.grad(loss, edges)
torch.autograd.grad(loss, edges)  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
