"""The layers of einops: what its functions do, as modules without parameters; `EinMix` has its own.

## Example

```python
import torch
from einops.layers.torch import Rearrange

model = torch.nn.Sequential(Rearrange("b c -> c b"), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from einops.layers.torch import Reduce

model = torch.nn.Sequential(torch.nn.Linear(4, 4), Reduce("b c -> b", "mean"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
```
"""

import torch
from gradlint_model import complete, saves, size

import einops


@complete
class Rearrange(torch.nn.Module):
    def __init__(self, pattern, **axes_lengths):
        super().__init__()
        self.pattern = pattern
        self.axes_lengths = axes_lengths

    def forward(self, input):
        return einops.rearrange(input, self.pattern)


@complete
class Reduce(torch.nn.Module):
    def __init__(self, pattern, reduction, **axes_lengths):
        super().__init__()
        self.pattern = pattern
        self.reduction = reduction
        self.axes_lengths = axes_lengths

    def forward(self, input):
        return einops.reduce(input, self.pattern, self.reduction)


class EinMix(torch.nn.Module):
    def __init__(self, pattern, weight_shape, bias_shape=None, **axes_lengths):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size()))

    def forward(self, input):
        return saves(input, self.weight)
