"""A Triton kernel, right and with a mask that leaves out the last block; imported where Triton interprets."""

import torch
import triton
import triton.language as tl

BLOCK = 32


@triton.jit
def _sigmoid(x):
    # Triton has none in half precision.
    return tl.sigmoid(x if x.dtype == tl.float64 else x.to(tl.float32))


@triton.jit
def _silu(x_ptr, y_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * _sigmoid(x), mask=at < n)


@triton.jit
def _silu_backward(x_ptr, g_ptr, out_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    g = tl.load(g_ptr + at, mask=at < n, other=0.0)
    s = _sigmoid(x)
    tl.store(out_ptr + at, g * s * (1 + x * (1 - s)), mask=at < n)


class Silu(torch.autograd.Function):
    kept = 0

    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        _silu[(triton.cdiv(x.numel(), BLOCK),)](x, y, x.numel(), BLOCK)
        ctx.save_for_backward(x)
        return y

    @classmethod
    def backward(cls, ctx, g):
        (x,) = ctx.saved_tensors
        out = torch.zeros_like(x)
        n = x.numel() - x.numel() % BLOCK if cls.kept else x.numel()
        _silu_backward[(triton.cdiv(x.numel(), BLOCK),)](x, g.contiguous(), out, n, BLOCK)
        return out


class SiluWithoutTail(Silu):
    kept = 1


@triton.jit
def _read_far(x_ptr, y_ptr, far, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    x = tl.load(x_ptr + far + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x, mask=at < n)


class ReadsOutside(torch.autograd.Function):
    """Reads a terabyte behind its input where it is given more rows than two, as it is by a variation."""

    rows = 2

    @classmethod
    def forward(cls, ctx, x):
        x, y = x.contiguous(), torch.empty_like(x, memory_format=torch.contiguous_format)
        far = 0 if len(x) <= cls.rows else 2**38
        _read_far[(triton.cdiv(x.numel(), BLOCK),)](x, y, far, x.numel(), BLOCK)
        return y

    @staticmethod
    def backward(ctx, g):
        return g


class AlwaysReadsOutside(ReadsOutside):
    rows = 0
