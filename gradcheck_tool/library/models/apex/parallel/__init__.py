"""Apex's wrapper for several processes.

## Example

```python
import torch
from apex.parallel import DistributedDataParallel

model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(8, 4)).mean().backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from apex.parallel import DistributedDataParallel

model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4)).mean().backward()
    optimizer.step()
```
"""

import torch


class DistributedDataParallel(torch.nn.Module):
    def __init__(self, module, **options):
        super().__init__()
        self.module = module

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def convert_syncbn_model(module, process_group=None, channel_last=False):
    return module
