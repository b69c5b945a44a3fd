"""What a file defines is executed on its own, wherever it is defined; PyTorch says the same."""

from __future__ import annotations

from tests.cases import each
from tests.open_programs import HEAD, Open, check_open

PRODUCT = """
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, scale):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x  # <- GL701
"""
DRIVER = "x = torch.ones(2, requires_grad=True)\nProduct.apply(x, x * 2, 1).sum().backward()"
RIGHT = ("grad * x  # <- GL701", "grad * x, None")

OPEN = {
    "after a test of what is installed": Open(
        HEAD + "import os\nif os.environ.get('FAST', '1') == '1':" + PRODUCT, *RIGHT, DRIVER
    ),
    "where an import may fail": Open(
        HEAD + "try:\n    import functools" + PRODUCT + "except ImportError:\n    Product = None\n",
        *RIGHT,
        DRIVER,
    ),
    "beside another that the test tells apart": Open(
        HEAD
        + "import os\nFAST = os.environ.get('FAST', '1') == '1'\nif FAST:"
        + PRODUCT
        + "else:\n    Product = None\n"
        + "def product(x, y):\n    return Product.apply(x, y, 1) if FAST else x * y\n",
        *RIGHT,
        DRIVER,
    ),
}


@each(OPEN)
def test_what_a_test_defines_is_executed(program: Open) -> None:
    check_open(program)
