"""Native code in the caller's own process gets no call that may not fit."""

import ctypes

import torch
from torch.autograd import Function

from gradcheck_tool.gradcheck import check_function
from gradcheck_tool.gradcheck.native import native_code
from tests.gradcheck.zoo import r

_CALLED: list[tuple[int, bool]] = []
_library = ctypes.CDLL(None)


class Copied(Function):
    """Trusts its number of elements, and that they are contiguous."""

    @staticmethod
    def forward(ctx, x, n):
        _CALLED.append((n, x.is_contiguous()))
        y = torch.empty(x.numel() + 64, dtype=x.dtype)
        if n <= x.numel():
            _library.memmove(
                ctypes.c_void_p(y.data_ptr()), ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(8 * n)
            )
        return y[: x.numel()].reshape(x.shape)

    @staticmethod
    def backward(ctx, g):
        return g, None


class Plain(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.detach().numpy() * 2)

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def test_native_code_is_told_apart():
    assert native_code(Copied) == "_library"
    assert native_code(Plain) is None


def test_native_code_is_called_with_what_fits_alone():
    _CALLED.clear()
    report = check_function(Copied, (r(3, 4), 12))
    assert report.ok, report.text()
    assert set(_CALLED) == {(12, True)}
    assert any("isolate=True" in note for note in report.notes)


def test_risky_calls_are_made_on_demand():
    _CALLED.clear()
    check_function(Copied, (r(3, 4), 12), risky=True)
    assert len({n for n, _ in _CALLED}) > 1
