"""Apex's mixed precision: models and optimizers are patched in place, and the loss is scaled in a block.

Leaving the block takes the scale off the gradients again.

## Example

```python
import torch
from apex import amp

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for _ in range(3):
    loss = model(torch.ones(8, 4).cuda()).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from apex import amp

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4).cuda()).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
```
"""

import contextlib

SCALE = 65536.0


def initialize(models, optimizers=None, **options):
    return models if optimizers is None else (models, optimizers)


@contextlib.contextmanager
def scale_loss(loss, optimizers, **options):
    yield loss * SCALE


def master_params(optimizer):
    for group in optimizer.param_groups:
        yield from group["params"]
