"""`isinstance`, `getattr`, `vars` and other questions about objects."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "isinstance decides": """
import torch
def detached(x):
    if isinstance(x, (list, tuple)):
        return [detached(v) for v in x]
    return x.detach()
w = torch.ones(2, requires_grad=True)
h = [torch.zeros(2), torch.zeros(2)]
for _ in range(3):
    h = [v * w for v in detached(h)]
    sum(v.sum() for v in h).backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
