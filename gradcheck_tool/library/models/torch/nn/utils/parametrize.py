"""Parametrizations of one's own: what was a parameter is computed anew whenever it is read.

## Example

```python
import torch
from torch.nn.utils import parametrize


class Symmetric(torch.nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).transpose(-1, -2)


layer = torch.nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
layer(torch.ones(2, 3)).sum().backward()
layer(torch.ones(2, 3)).sum().backward()
```
"""

import contextlib

from gradlint_model import touches


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    touches(module)
    return module


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    touches(module)
    return module


def cached():
    return contextlib.nullcontext()
