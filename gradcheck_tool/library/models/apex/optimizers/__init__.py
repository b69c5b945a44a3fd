"""Apex's fused optimizers: what those of PyTorch do.

## Example

```python
import torch
from apex.optimizers import FusedAdam

model = torch.nn.Linear(4, 1).cuda()
optimizer = FusedAdam(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(8, 4).cuda()).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```
"""

import torch


def FusedAdam(params, lr=1e-3, **options):
    return torch.optim.Adam(params, lr)


def FusedLAMB(params, lr=1e-3, **options):
    return torch.optim.Adam(params, lr)


def FusedNovoGrad(params, lr=1e-3, **options):
    return torch.optim.Adam(params, lr)


def FusedSGD(params, lr, momentum=0.0, **options):
    return torch.optim.SGD(params, lr, momentum)
