"""Sizes of results: a root of one element needs no gradient, others do."""

from __future__ import annotations

import pytest

from tests.cases import check_agreement, check_raises, check_runs, each
from tests.running import Analysis

# `# raises` marks the line where PyTorch raises.
PROGRAMS = {
    "parts of a flat buffer beside their shapes": """
import torch
flat = torch.ones(8, requires_grad=True)
shapes = [(2, 1), (2,), (1, 2), (1,), (1, 1)]
parts = [part.view(shape) for part, shape in zip(flat.split([2, 2, 2, 1, 1]), shapes)]
flat.mul_(0.5)  # raises
""",
}

# Programs that raise.
RAISING = {
    "the size that view() works out": """
with torch.no_grad():
    m.view(-1).backward()
""",
    "einsum with a known size": """
torch.einsum("ij,j->i", m, w).backward()
""",
    "movedim keeps the sizes": """
with torch.no_grad():
    m.movedim(0, 1)[0].backward()
""",
    "select leaves a dimension": "m.select(0, 1).backward()\n",
    "index_select gives one row for each index": """
w.index_select(0, torch.tensor([1, 1])).backward()
""",
    "diagonal leaves a dimension": "(m[:, :2] @ m[:, :2].t()).diagonal().backward()\n",
    "a list as index keeps its length": "w[[0, 1]].backward()\n",
    "an expanded scalar is no scalar": "s.expand(3).backward()\n",
    "a sum that is expanded to a number of rows that the run knows": """
def distances(a, b):
    rows = a.pow(2).sum(1, keepdim=True).expand(a.size(0), b.size(0))
    rows += b.pow(2).sum(1)
    return rows
distances(torch.ones(2, 3), torch.ones(4, 3))
""",
    "parts that are joined have a length": "torch.cat([w[:1], w[1:]]).backward()\n",
    "vector_norm leaves a dimension": "torch.linalg.vector_norm(m, dim=0).backward()\n",
}

# Programs that run.
RUNNING = {
    "what is expanded to sizes that the run knows is copied before it is written": """
rows = s.expand(int(os.environ.get("ROWS", "4"))).clone()
rows += 1
""",
    "what is expanded as another tensor may be expanded to its own size": """
def added(x, like):
    x = x.expand_as(like)
    x += 1
    return x
added(torch.ones(2, 3), torch.ones(2, 3))
""",
    "index_select of one gives one": """
w.index_select(0, torch.tensor([1])).backward()
""",
}


@each(PROGRAMS)
def test_model_and_pytorch_agree(program: str) -> None:
    check_agreement(program)


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


@pytest.mark.parametrize(
    "call", ["(w * 2).view(*shape[:2], 3)", "(w * 2).reshape(*shape, 3)", "w * torch.ones(*shape, 3)"]
)
def test_sizes_that_a_star_argument_may_add_are_not_known(call: str) -> None:
    source = f"import torch\ndef train(shape):\n    w = torch.ones(2, 3, requires_grad=True)\n    y = {call}\n    y.backward(torch.ones(1, 2, 3))\n"
    assert Analysis(source).errors() == []
