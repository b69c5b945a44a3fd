"""Functions that make tensors: leaves without a history."""

from __future__ import annotations

import pytest

from tests.cases import Fact, check_known, each
from tests.open_programs import told
from tests.running import findings, happened

FACTS = {
    "of sizes": Fact("x = torch.zeros(2, 3)", "x.shape == (2, 3) and x.is_leaf and not x.requires_grad"),
    "that require grad": Fact("x = torch.randn(2, requires_grad=True)", "x.requires_grad and x.is_leaf"),
    "like another one": Fact("x = torch.ones_like(w)", "not x.requires_grad and x.shape == w.shape"),
    "of values": Fact("x = torch.tensor([1.0, 2.0])", "x.shape == (2,) and not x.requires_grad"),
    "of integers": Fact("x = torch.arange(3)", "not x.is_floating_point() and x.shape[0] == 3"),
    "from an array": Fact(
        """\
import numpy
x = torch.from_numpy(numpy.ones(2))""",
        "not x.requires_grad",
    ),
}


@each(FACTS)
def test_the_model_knows_what_python_computes(program: Fact) -> None:
    check_known(program)


@pytest.mark.parametrize(
    "loss",
    [
        "torch.tensor(((model(x) - y) ** 2).mean().item(), requires_grad=True)",
        "torch.tensor(np.mean((model(x).detach().numpy() - y.numpy()) ** 2), requires_grad=True)",
    ],
)
def test_a_leaf_made_of_numbers_of_a_graph_is_a_loss_made_a_leaf(loss: str) -> None:
    source = (
        "import numpy as np\nimport torch\n\n"
        "def train(model, optimizer, loader):\n    for x, y in loader:\n"
        f"        loss = {loss}\n"
        "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
    )
    assert [finding.code for finding in told(source)] == ["GL507"]


SPARSE = """
import torch
values = torch.ones(3, requires_grad=True)
matrix = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), {values}, (3, 3))
{change}
matrix.to_dense().sum().backward()
"""


@pytest.mark.parametrize(
    ("values", "change", "expected"),
    [
        ("values * 2", "matrix = matrix + matrix.t()", []),
        ("values * 2", "matrix += matrix.t()", [(6, "GL201")]),
        ("[1.0, 2.0, 3.0]", "pass", [(6, "GL501")]),
    ],
)
def test_a_sparse_matrix_has_the_graph_of_its_values(
    values: str, change: str, expected: list[tuple[int, str]]
) -> None:
    program = SPARSE.format(values=values, change=change)
    assert findings(program) == expected
    raised, _ = happened(program)
    assert (raised is not None) is bool(expected)
