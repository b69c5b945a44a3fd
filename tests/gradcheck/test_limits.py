"""Code that does not return for derived inputs is ended, and what could be checked is."""

import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.limits import OutOfTimeError, patiently


def _forever():
    while True:
        pass


def test_an_endless_loop_is_ended():
    assert isinstance(patiently(_forever, seconds=0.01), OutOfTimeError)


def test_a_call_that_returns_is_left_alone():
    assert patiently(lambda: 42) == 42
    assert isinstance(patiently(lambda: 1 / 0), ZeroDivisionError)


class Bisected(Function):
    """The root of x^3 + x = y, to a tolerance that float32 never meets."""

    @staticmethod
    def forward(ctx, y):
        with torch.no_grad():
            low, high = torch.full_like(y, -10), torch.full_like(y, 10)
            while (high - low).max() > 1e-9:
                middle = (low + high) / 2
                below = middle**3 + middle < y
                low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        ctx.save_for_backward(low)
        return low

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (3 * x * x + 1)


def test_a_solver_that_float32_cannot_satisfy_is_no_alarm():
    y = torch.tensor([0.3, -1.2, 0.8], dtype=torch.float64, requires_grad=True)
    assert check_function(Bisected, (y,)).ok
