"""GL521: which masks of `where` keep a value off a steep operation, but not its derivative."""

import pytest

from tests.open_programs import told

torch = pytest.importorskip("torch")

PROGRAM = """
import torch

x = torch.tensor([0.0, 4.0], requires_grad=True)
torch.where(x > 0, x.sqrt(), 1.0).sum().backward()
"""


def gradient(source):
    scope = {}
    exec(source, scope)
    return scope["x"].grad


@pytest.mark.parametrize(
    "where",
    [
        "torch.where(x > 0, x.sqrt(), 1.0)",
        "torch.where(x != 0, x.rsqrt(), 1.0)",
        "torch.where(x <= 1e-6, torch.zeros(2), torch.log(x))",
        "torch.where(x == 0, 0.0, torch.reciprocal(x))",
    ],
)
def test_the_derivative_is_not_hidden(where):
    source = PROGRAM.replace("torch.where(x > 0, x.sqrt(), 1.0)", where)
    assert "GL521" in [finding.code for finding in told(source)]
    assert not gradient(source).isfinite().all()


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("torch.where(x > 0, (x + 1).sqrt(), 1.0)", 0.0),
        ("torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 1.0)", 0.0),
        ("torch.where(x > 1, x.log(), x - 1)", 0.5),
        ("torch.where(x > 0, x, x.exp())", 0.0),
        ("torch.where(x > 0, x.detach().sqrt() * x, 1.0)", 0.0),
    ],
)
def test_what_is_finite_is_left_alone(where, value):
    source = PROGRAM.replace("torch.where(x > 0, x.sqrt(), 1.0)", where).replace("0.0, 4.0", f"{value}, 4.0")
    assert "GL521" not in [finding.code for finding in told(source)]
    assert torch.isfinite(gradient(source)).all()
