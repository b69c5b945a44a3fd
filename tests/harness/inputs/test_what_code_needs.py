"""Arguments of which the code says what they are: sizes, single numbers, permutations, None, what is not there."""

import pytest
import torch

from gradcheck_tool.gradcheck import check_function

ONE_ELEMENT = """
import torch
from torch.autograd import Function


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, scale, size, permutation):
        ctx.save_for_backward(scale, permutation)
        ctx.shape = x.shape
        y = x.new_zeros(x.shape[0], size) + x.sum(dim=(1, 2, 3))[:, None]
        return y * scale + x[:, permutation].flatten(1)[:, :1]

    @staticmethod
    def backward(ctx, g):
        scale, permutation = ctx.saved_tensors
        total = (g.sum(1) * scale.item())[:, None, None, None].expand(ctx.shape).clone()
        total[:, permutation[0], 0, 0] += g.sum(1)
        return total, None, None, None


class Needs(Function):
    @staticmethod
    def forward(ctx, x):
        return {needs}

    @staticmethod
    def backward(ctx, g):
        return g
"""


def test_numbers_sizes_and_permutations(found):
    function, inputs = found(ONE_ELEMENT.replace("{needs}", "x"), "Scaled")
    _, scale, size, permutation = inputs.cases[0].args
    assert scale.dim() == 0
    assert type(size) is int
    assert sorted(permutation.tolist()) == list(range(len(permutation)))
    assert check_function(function, inputs.cases[0].args).ok


@pytest.mark.parametrize("needs", ["torch.rfft(x, 1)", "torch.symeig(x)"])
def test_what_another_version_of_a_library_has_is_missing(found, needs):
    _, inputs = found(ONE_ELEMENT.replace("{needs}", needs), "Needs")
    assert "needs what is not here" in inputs.tried[-1]


BARE = """
import torch
from torch.autograd import Function


class How:
    def scale(self):
        return None


class Product(Function):
    @staticmethod
    def forward(ctx, a, b, how):
        assert len(a.shape) == len(b.shape) == 4
        ctx.save_for_backward(a, b)
        if how is not None and how.scale() is None:
            raise ValueError("not begun")
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.mT, a.mT @ g, None
"""


def test_none_before_an_object_where_the_code_can_do_without(found):
    _, inputs = found(BARE)
    assert inputs.cases[0].args[2] is None


RUDE = """
import os
import torch
from torch.autograd import Function


class Rude(Function):
    @staticmethod
    def forward(ctx, x):
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(3)
        os.chdir("/")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2
"""


def test_what_a_function_sets_while_arguments_are_tried_is_put_back_and_told(found):
    function, inputs = found(RUDE)
    assert torch.get_default_dtype() is torch.float32
    messages = [finding.message for finding in check_function(function, inputs.cases[0].args).findings]
    changed = "default dtype and the seed and the working folder"
    assert messages == [f"forward changes the {changed} of the whole process"]


NONE_OF_THE_REST = """
import torch
from torch.autograd import Function


class Distance(Function):
    @staticmethod
    def forward(ctx, x, y, batched, *rest):
        ctx.save_for_backward(x - y)
        return ((x - y) ** 2).sum()

    @staticmethod
    def backward(ctx, g):
        (difference,) = ctx.saved_tensors
        return 2 * g * difference, -2 * g * difference, None
"""


def test_nothing_is_passed_for_the_rest_where_backward_does_not_count_it(found):
    function, inputs = found(NONE_OF_THE_REST)
    assert len(inputs.cases[0].args) == 3
    assert check_function(function, inputs.cases[0].args).ok
