"""Shapes that comments and docstrings tell are those of the arguments that are made up."""

import pytest

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.inputs.synthesised.written_shapes import shape_in

HEAD = "import torch\nfrom torch.autograd import Function\n\n\n"

# Any other sizes than the written ones are refused with a message that says nothing.
BESIDE = """
def _weighted(values, gates, table):
    '''Sum up.

    Args:
        gates (torch.Tensor): of the heads, (B, NH, S, 1)
        table: tensor of shape [3, d]
    '''
    if gates.shape != (*values.shape[:3], 1) or table.shape[0] != 3 or table.shape[1] != values.shape[3]:
        raise ValueError("no")
    return values * gates * table.sum(0)


class Heads(Function):
    @staticmethod
    def forward(
        ctx,
        values: torch.Tensor,  # (B, NH, S, D)
        gates: torch.Tensor,
        table: torch.Tensor,
        eps: float = 1e-6,
    ):
        if eps > 1e-5:
            raise ValueError("no")
        ctx.save_for_backward(values, gates, table)
        return _weighted(values, gates, table)

    @staticmethod
    def backward(ctx, g):
        values, gates, table = ctx.saved_tensors
        row = (g * values * gates).sum((0, 1, 2))
        return g * gates * table.sum(0), (g * values * table.sum(0)).sum(-1, keepdim=True), row.expand(3, -1), None
"""


def test_shapes_beside_parameters_and_in_the_docstring_of_what_is_called(found):
    function, made = found(HEAD + BESIDE)
    assert made.cases, made.tried
    values, gates, table, *_ = made.cases[0].args
    assert values.dim() == 4
    assert gates.shape == (*values.shape[:3], 1)
    assert table.shape == (3, values.shape[3])
    assert check_function(function, made.cases[0].args).ok


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("# (B, NH, S, D)", (4, 4, 4, 4)),
        ("(batch_size, 2 * d, n + 1) if real", (4, 8, 5)),
        ("of shape (N,)", (4,)),
        ("tensor of size [..., 3, 4]", (4, 3, 4)),
        ("images (B x C x H x W)", (4, 4, 4, 4)),
        ("(optional) the second operand (see there)", None),
        ("int, optional (default: 3)", None),
        ("torch.Tensor(float)", None),
    ],
)
def test_what_reads_like_a_shape(text, shape):
    assert shape_in(text) == shape
