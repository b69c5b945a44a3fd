"""`functools.lru_cache` and `functools.cache`: what they return again has the same graph."""

from __future__ import annotations

from tests.cases import check_agreement, each

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a cached result": """
import torch
from functools import lru_cache
w = torch.rand(3, requires_grad=True)
@lru_cache(maxsize=None)
def features():
    return w.exp()
features().sum().backward()
features().mean().backward()  # raises
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
