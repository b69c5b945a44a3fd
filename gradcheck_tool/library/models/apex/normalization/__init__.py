"""Apex's fused layers: what those of PyTorch do.

## Example

```python
import torch
from apex.normalization import FusedLayerNorm

layer, norm = torch.nn.Linear(4, 4), FusedLayerNorm(4)
hidden = layer(torch.ones(2, 4))
loss = norm(hidden).sum()
hidden.add_(1)
loss.backward()  # <- GL201
```

```python
import torch
from apex.normalization import FusedLayerNorm

layer, norm = torch.nn.Linear(4, 4), FusedLayerNorm(4)
hidden = layer(torch.ones(2, 4))
loss = norm(hidden).sum()
hidden = hidden + 1
loss.backward()
```
"""

import torch


def FusedLayerNorm(normalized_shape, eps=1e-5, elementwise_affine=True):
    return torch.nn.LayerNorm(normalized_shape, eps, elementwise_affine)
