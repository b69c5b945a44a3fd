"""What products of matrices save: the operand itself, or a view of it, by the number of their dimensions."""

from __future__ import annotations

import pytest

from tests.cases import check_right_gradients, check_wrong_gradients

# Operands that are saved as they are, and those that are saved as views where there are more dimensions.
SAME = [("3, 3", "3, 3"), ("3", "3"), ("2, 3", "3")]
VIEWS = [("2, 3, 3", "2, 3, 3"), ("2, 2, 3, 3", "2, 2, 3, 3")]
PRODUCTS = ["left @ right", "torch.matmul(left, right)", "left.matmul(right)"]


def program(left: str, right: str, product: str) -> str:
    """Data of an operand that are replaced before the backward pass of a product."""
    return f"""
left = torch.rand({left}, requires_grad=True)
right = torch.rand({right}, requires_grad=True)
loss = ({product}).sum()
right.data = torch.zeros({right})
loss.backward()
"""


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("left", "right"), SAME)
def test_operands_of_two_dimensions_are_saved_themselves(left: str, right: str, product: str) -> None:
    check_wrong_gradients(program(left, right, product))


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize(("left", "right"), VIEWS)
def test_batches_of_matrices_are_saved_as_views(left: str, right: str, product: str) -> None:
    check_right_gradients(program(left, right, product))
