"""Norms of weights: the module is trained as before, by parameters that its weight is computed from.

## Example

```python
import torch
from torch.nn.utils import weight_norm

model = torch.nn.Sequential(weight_norm(torch.nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch

model = torch.nn.Sequential(torch.nn.utils.spectral_norm(torch.nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
```
"""


def weight_norm(module, name="weight", dim=0):
    return module


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    return module


def remove_weight_norm(module, name="weight"):
    return module


def remove_spectral_norm(module, name="weight"):
    return module
