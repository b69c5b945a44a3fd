"""Statements that are taken for mended: what they give, and what has happened after them."""

from __future__ import annotations

import pytest

from tests.cases import HEAD
from tests.running import findings, happened

# What a statement gives that raises, shown by a second mistake with it. `# raises` marks the first.
STATEMENTS = {
    "an operator in place": "w += 1  # raises\nw.numpy()",
    "a method in place": "v = w.add_(1)  # raises\nv.numpy()",
    "a pass": "net(w * torch.ones(1, 2)).exp().backward(torch.ones(3))  # raises\nnet.weight.grad = torch.zeros(7)",
    "an attribute": "w.grad.norm()  # raises\nw.numpy()",
    "an item": "w[0] = 1  # raises\nw.numpy()",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_comes_after_a_statement_that_raises_is_found(statement: str) -> None:
    source = HEAD + "net = nn.Linear(2, 1)\nw = torch.rand(2, requires_grad=True)\n" + STATEMENTS[statement]
    rows = [row for row, _ in findings(source)]
    marked = next(row for row, line in enumerate(source.splitlines(), 1) if "# raises" in line)
    assert happened(source)[0] == marked
    assert rows == [marked, marked + 1]


def test_a_pass_that_is_taken_for_mended_gives_gradients() -> None:
    source = HEAD + "w = torch.rand(2, requires_grad=True)\n(w * 2).backward()\nprint(w.grad.norm())"
    assert [code for _, code in findings(source)] == ["GL103"]
