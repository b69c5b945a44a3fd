"""Methods that convert tensors."""

from __future__ import annotations

from tests.cases import check_agreement, each

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
