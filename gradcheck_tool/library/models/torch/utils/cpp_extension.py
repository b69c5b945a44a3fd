"""Extensions that are compiled on the way: what their functions do is not known, `backward` included.

## Example

```python
import torch
from torch.utils.cpp_extension import load

kernels = load("kernels", sources=["kernels.cu"])  # cuda


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inputs):
        ctx.save_for_backward(inputs)
        return kernels.forward(inputs)

    @staticmethod
    def backward(ctx, gradient):
        (inputs,) = ctx.saved_tensors
        return kernels.backward(gradient, inputs)


weight = torch.ones(3, requires_grad=True)
Scale.apply(weight).sum().backward()
```
"""

from gradlint_model import touches, unknown


class _Extension:
    def __getattr__(self, name):
        return _operation


def _operation(*args, **kwargs):
    touches(*args, *kwargs.values())
    return unknown()


def load(name, sources, **options):
    return _Extension()


def load_inline(name, cpp_sources, **options):
    return _Extension()
