"""Triton: a kernel is launched on a grid, and writes to some of its arguments unseen by autograd.

Which of them, only the kernel knows: what is saved for a backward pass may be another value by then, or not.

## Example

```python
import torch
import triton
import triton.language as tl


@triton.jit
def double(source, target, size, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + places, 2 * tl.load(source + places, mask=places < size), mask=places < size)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        outputs = torch.empty_like(inputs)
        double[(triton.cdiv(inputs.numel(), 64),)](inputs, outputs, inputs.numel(), BLOCK=64)
        return outputs

    @staticmethod
    def backward(ctx, gradient):
        return 2 * gradient


weight = torch.ones(8, device="cuda", requires_grad=True)
Double.apply(weight).sum().backward()
```
"""

from gradlint_model import writes


class _Kernel:
    """A function that `triton.jit` has compiled."""

    def __getitem__(self, grid):
        return _launch

    def run(self, *args, **kwargs):
        writes(*args, *kwargs.values())


def _launch(*args, **kwargs):
    writes(*args, *kwargs.values())


def jit(fn=None, **options):
    return _decorator if fn is None else _Kernel()


def autotune(configs, key, **options):
    return _decorator


def heuristics(values):
    return _decorator


def _decorator(fn):
    return _Kernel()


def cdiv(x, y):
    return -(-x // y)
