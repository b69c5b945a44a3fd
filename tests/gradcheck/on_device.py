"""Functions for a CUDA device: streams, atomic sums, random numbers of the device."""

import torch
from torch.autograd import Function

_SLOW = 4_000_000
"""Cycles that a kernel takes longer than those of the stream that reads what it writes."""


class OnAnotherStream(Function):
    """2 x on a stream of its own, which waits for its input and is waited for."""

    waits = awaited = True
    slow = 0

    @classmethod
    def _doubled(cls, x):
        side, current = torch.cuda.Stream(), torch.cuda.current_stream()
        if cls.waits:
            side.wait_stream(current)
        with torch.cuda.stream(side):
            if cls.slow:
                torch.cuda._sleep(cls.slow)
            y = 2 * x
        x.record_stream(side)
        y.record_stream(current)
        if cls.awaited:
            current.wait_stream(side)
        return y

    @classmethod
    def forward(cls, ctx, x):
        return cls._doubled(x)

    @classmethod
    def backward(cls, ctx, g):
        return cls._doubled(g)


class DoesNotWait(OnAnotherStream):
    """Reads its input before that is written, if the stream of the caller is late."""

    waits = False


class IsNotAwaited(OnAnotherStream):
    """What it returns is read before it is written."""

    awaited = False
    slow = _SLOW


class Gathered(Function):
    """Rows of float32 numbers; what repeated rows get is added up atomically."""

    times = 1.0

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return x.float()[index].to(x.dtype)

    @classmethod
    def backward(cls, ctx, g):
        (index,) = ctx.saved_tensors
        total = torch.zeros(ctx.shape, device=g.device)
        total.index_add_(0, index, g.float(), alpha=cls.times)
        return total.to(g.dtype), None


class GatheredWrong(Gathered):
    times = 0.5


class Scattered(Function):
    """Sums of float32 numbers, atomic in forward."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        total = torch.zeros(5, device=x.device)
        return total.scatter_add_(0, index, x.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (index,) = ctx.saved_tensors
        return g[index], None


class Dropped(Function):
    """Drops entries by random numbers of the device."""

    @staticmethod
    def forward(ctx, x):
        ctx.kept = torch.rand_like(x) < 0.5
        return x * ctx.kept * 2

    @staticmethod
    def backward(ctx, g):
        return g * ctx.kept * 2


_SOURCE = """
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>

__global__ void twice_kernel(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}

at::Tensor twice(at::Tensor x, bool current) {
  x = x.contiguous();
  auto y = at::empty_like(x);
  cudaStream_t stream = current ? at::cuda::getCurrentCUDAStream().stream() : 0;
  twice_kernel<<<(x.numel() + 127) / 128, 128, 0, stream>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""


def extension(folder):
    """A Function of a CUDA extension, on the current stream, and one that runs on the default stream always."""
    from torch.utils.cpp_extension import load_inline

    native = load_inline(
        "gradlint_twice",
        cpp_sources="at::Tensor twice(at::Tensor x, bool current);",
        cuda_sources=_SOURCE,
        functions=["twice"],
        build_directory=str(folder),
    )

    class Twice(Function):
        current = True

        @classmethod
        def forward(cls, ctx, x):
            return native.twice(x, cls.current)

        @classmethod
        def backward(cls, ctx, g):
            return native.twice(g, cls.current)

    class TwiceOnTheDefaultStream(Twice):
        current = False

    return Twice, TwiceOnTheDefaultStream
