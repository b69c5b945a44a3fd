"""timm's optimizers: made for a model, or for parameters, by name.

## Example

```python
import torch
from timm.optim import create_optimizer_v2

model = torch.nn.Linear(4, 1)
optimizer = create_optimizer_v2(model, opt="sgd", lr=0.1)
for _ in range(3):
    model(torch.ones(8, 4)).mean().backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from timm.optim import create_optimizer_v2

model = torch.nn.Linear(4, 1)
optimizer = create_optimizer_v2(model, opt="sgd", lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4)).mean().backward()
    optimizer.step()
```
"""

import torch


def create_optimizer_v2(model_or_params, opt="sgd", lr=0.1, **kwargs):
    is_model = isinstance(model_or_params, torch.nn.Module)
    return torch.optim.SGD(model_or_params.parameters() if is_model else model_or_params, lr)


def create_optimizer(args, model, filter_bias_and_bn=True):
    return torch.optim.SGD(model.parameters(), 0.1)
