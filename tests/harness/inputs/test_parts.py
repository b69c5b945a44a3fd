"""Arguments that belong together, classes that cannot be compared, and code that is compiled on its first call."""

import pytest

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.harness.inputs.synthesised.trial import _building

SPARSE = """
import torch
from torch.autograd import Function


class SpecialSpmm(Function):
    @staticmethod
    def forward(ctx, indices, values, shape, b):
        assert indices.requires_grad == False
        a = torch.sparse_coo_tensor(indices, values, shape)
        ctx.save_for_backward(a, b)
        ctx.N = shape[0]
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_values = grad_b = None
        if ctx.needs_input_grad[1]:
            edges = a._indices()[0, :] * ctx.N + a._indices()[1, :]
            grad_values = g.matmul(b.t()).view(-1)[edges]
        if ctx.needs_input_grad[3]:
            grad_b = a.t().matmul(g)
        return None, grad_values, None, grad_b
"""

SPECIAL_TYPES = """
import torch
from torch.autograd import Function


class Ordered(type):
    def __eq__(cls, other):
        return type(other) is Ordered


class Order(metaclass=Ordered):
    pass


class Anything:
    def __getattr__(self, name):
        return torch.ones(2)


class Bound:
    lower = Anything()

    def value(self):
        return 2.0


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        return x * bound.value()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.bound.value(), None
"""


@pytest.mark.parametrize("source", [SPARSE, SPECIAL_TYPES])
def test_parts_of_a_sparse_matrix_and_classes_that_cannot_be_compared(found, source):
    function, made = found(source)
    assert made.cases, made.tried
    assert check_function(function, made.cases[0].args).ok


def test_what_is_compiled_on_the_first_call_is_not_cut_short():
    for name, built in (("/lib/numba/core/compiler.py", True), ("/lib/package/core/compiler.py", False)):
        frames = {}
        exec(compile("import sys; frame = sys._getframe()", name, "exec"), frames)
        assert _building(frames["frame"]) == built


BOUNDED = """
from torch.autograd import Function


class Bounded(Function):
    @staticmethod
    def forward(ctx, x, qmin: int, qmax: int):
        return x.clamp(qmin, qmax)

    @staticmethod
    def backward(ctx, g):
        return g, None, None
"""


def test_a_lower_bound_is_below_an_upper_one(found):
    _, made = found(BOUNDED)
    assert made.cases[0].args[1] < made.cases[0].args[2]
