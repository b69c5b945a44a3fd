"""`torch.autograd.functional` and `torch.func`."""

from __future__ import annotations

from tests.cases import HEAD, Mistake, check_agreement, check_correction, check_mistake, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "functional jacobian strict independent": """
import torch
def f(x):
    return torch.ones(3)
J = torch.autograd.functional.jacobian(f, torch.rand(2), strict=True)  # raises
""",
    "functional jacobian of nothing": """
import torch
def derivatives(module, names=()):
    values = tuple(dict(module.named_parameters())[name] for name in names)
    return torch.autograd.functional.jacobian(lambda *held: module(torch.ones(2)), values)
""",
    "functional jacobian lenient": """
import torch
def f(x):
    return torch.ones(3)
J = torch.autograd.functional.jacobian(f, torch.rand(2))
""",
    "functional hessian vector output": """
import torch
H = torch.autograd.functional.hessian(lambda x: x ** 3, torch.rand(3))  # raises
""",
    "functional vjp missing v": """
import torch
out, g = torch.autograd.functional.vjp(lambda x: x ** 2, torch.rand(3))  # raises
""",
    "functional vjp wrong v": """
import torch
out, g = torch.autograd.functional.vjp(lambda x: x ** 2, torch.rand(3), torch.ones(2))  # raises
""",
    "functional jacobian then backward": """
import torch
x = torch.rand(3, requires_grad=True)
J = torch.autograd.functional.jacobian(lambda t: t ** 2, x)
J.sum().backward()  # raises
""",
    "functional jacobian create graph": """
import torch
x = torch.rand(3, requires_grad=True)
J = torch.autograd.functional.jacobian(lambda t: t ** 2, x, create_graph=True)
J.sum().backward()
""",
    "func grad vector": """
import torch
g = torch.func.grad(lambda x: x ** 2)(torch.rand(3))  # raises
""",
    "func grad scalar": """
import torch
g = torch.func.grad(lambda x: (x ** 2).sum())(torch.rand(3))
""",
    "func grad int input": """
import torch
g = torch.func.grad(lambda x: (x ** 2).sum())(torch.arange(3))  # raises
""",
}

# Silent mistakes, and what corrects them.
MISTAKES = {
    "a penalty on a Jacobian that has no graph": Mistake(
        HEAD
        + """
from torch.autograd.functional import jacobian
encoder = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())
decoder = nn.Linear(4, 3)
row = torch.rand(3)
penalty = jacobian(encoder, row).pow(2).sum()  # <- GL803
loss = F.mse_loss(decoder(encoder(row)), row) + 0.1 * penalty
loss.backward()
symptom = not penalty.requires_grad
""",
        "jacobian(encoder, row)",
        "jacobian(encoder, row, create_graph=True)",
    ),
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(MISTAKES)
def test_a_silent_mistake_is_reported(program: Mistake) -> None:
    check_mistake(program)


@each(MISTAKES)
def test_its_correction_is_not_reported(program: Mistake) -> None:
    check_correction(program)
