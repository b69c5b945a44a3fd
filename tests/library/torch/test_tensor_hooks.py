"""Hooks of tensors: when a backward runs them, and which tensors refuse them."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "tensor hook returns wrong shape": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g.sum())
y.sum().backward()  # raises
""",
    "post accumulate hook on nonleaf": """
import torch
x = torch.rand(3, requires_grad=True)
y = x * 2
y.register_post_accumulate_grad_hook(lambda p: None)  # raises
""",
    "post accumulate hook step on shared graph": """
import torch
w = torch.nn.Parameter(torch.rand(3))
opt = torch.optim.SGD([w], lr=0.1)

def apply_now(p):
    opt.step()

w.register_post_accumulate_grad_hook(apply_now)
a = (w ** 2).sum()
b = (w ** 3).sum()
a.backward()
b.backward()  # raises
""",
    "multi grad hook on constant": """
import torch
a = torch.rand(2, requires_grad=True)
b = torch.rand(2)
torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: None)  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
