"""Modules whose activations are computed again in the backward pass: nothing that a program sees changes.

## Example

```python
import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

model = checkpoint_wrapper(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(8, 4)).mean().backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper

model = checkpoint_wrapper(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4)).mean().backward()
    optimizer.step()
```
"""


def checkpoint_wrapper(module, checkpoint_impl=None, checkpoint_fn=None, **checkpoint_fn_kwargs):
    return module


def apply_activation_checkpointing(model, checkpoint_wrapper_fn=None, check_fn=None, **options):
    return None
