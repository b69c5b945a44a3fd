"""timm's layers, as far as other projects use them.

## Example

```python
import torch
from timm.layers import DropPath, trunc_normal_

layer, path = torch.nn.Linear(4, 4), DropPath(0.1)
trunc_normal_(layer.weight, std=0.02)
loss = path(layer(torch.ones(2, 4))).exp().sum()
loss.backward()
loss.backward()  # <- GL101
```

```python
import torch
from timm.layers import DropPath, trunc_normal_

layer, path = torch.nn.Linear(4, 4), DropPath(0.1)
trunc_normal_(layer.weight, std=0.02)
loss = path(layer(torch.ones(2, 4))).exp().sum()
loss.backward()
```
"""

import torch
from gradlint_model import complete, computes


@complete
class DropPath(torch.nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return x if self.drop_prob == 0.0 else computes(x)


def drop_path(x, drop_prob=0.0, training=False, scale_by_keep=True):
    return computes(x) if training else x


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    return torch.nn.init.trunc_normal_(tensor, mean, std, a, b)


def to_2tuple(x):
    return x if isinstance(x, tuple) else (x, x)
