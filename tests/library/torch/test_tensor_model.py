"""A tensor as an object of Python: attributes, methods, items, truth and iteration."""

from __future__ import annotations

from tests.cases import Fact, check_agreement, check_known, each

FACTS = {
    "attributes": Fact("x = torch.zeros(2, 3)", "x.shape[0] == 2 and x.ndim == 2 and x.grad is None"),
    "sizes": Fact("x = torch.zeros(2, 3)", "x.size(1) == 3 and len(x) == 2 and x.numel() == 6"),
    "iteration": Fact(
        "rows = [row for row in torch.zeros(2, 3)]", "len(rows) == 2 and rows[0].shape == (3,)"
    ),
    "a transposed matrix": Fact("x = torch.zeros(2, 3).T", "x.shape == (3, 2)"),
    "an attribute that the program sets": Fact("x = torch.zeros(2)\nx.mark = 'seen'", "x.mark == 'seen'"),
    "the same tensor": Fact("x = w\ny = w.detach()", "x is w and y is not w"),
}
# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "a tensor of several elements has no truth": """
import torch
w = torch.ones(2, requires_grad=True)
if (w > 0).all():
    loss = w.exp().sum()
    loss.backward()
    loss.backward()  # raises
""",
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)
