"""Tensors that share memory: views, parts and expanded tensors."""

from __future__ import annotations

from tests.cases import HEAD, check_raises, check_runs, each
from tests.running import findings

# Programs that raise.
RAISING = {
    "flatten of one dimension is the tensor itself": """
v = w.flatten()
v[1:] += 1.0
""",
    "flatten of two dimensions is a view": """
v = m.flatten()
v += 1.0
""",
    "rows are a piece of memory": """
a = m[:1].reshape(-1)
a += 1.0
""",
    "an element of the last dimension is a strided view": """
a = m[:, 1]
a += 1.0
""",
}

# Programs that run.
RUNNING = {
    "a part of each row is no piece of memory": """
a = m[:, :2].reshape(-1)
a += 1.0
b = torch.rand(3, 3, requires_grad=True).T.reshape(-1)
b += 1.0
""",
    "a row of what is expanded along another dimension is its own": """
v = torch.rand(3).expand(2, 3)
v[0].add_(1.0)
""",
    "parts that count their own writes": """
h = w * 2.0
a, b, c = h.unsafe_chunk(3)
y = (a * w[:1]).sum()
h.add_(1.0)
y.backward()
""",
}


@each(RAISING)
def test_what_raises_is_predicted(program: str) -> None:
    check_raises(program)


@each(RUNNING)
def test_nothing_is_predicted_for_what_runs(program: str) -> None:
    check_runs(program)


def test_a_size_that_is_misread_as_negative_is_not_known() -> None:
    """Where numbers are read wrong, the rest of the file is judged all the same."""
    program = """
def train(net, optimizer, loader):
    rows = torch.zeros(4, 2 // 2 - 2)
    rows[0, :1].exp()
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
"""
    assert [code for _, code in findings(HEAD + program)] == ["GL401"]
