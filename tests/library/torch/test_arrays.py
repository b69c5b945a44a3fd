"""NumPy functions on tensors."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "numpy array function": """
import torch
import numpy as np
x = torch.rand(3, requires_grad=True)
values = np.asarray(x * 2)  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
