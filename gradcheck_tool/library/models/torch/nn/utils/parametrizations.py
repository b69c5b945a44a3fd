"""Parametrizations that come with PyTorch: the module is trained as before.

## Example

```python
import torch
from torch.nn.utils.parametrizations import weight_norm

model = weight_norm(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(8, 4)).mean().backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from torch.nn.utils.parametrizations import weight_norm

model = weight_norm(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4)).mean().backward()
    optimizer.step()
```
"""


def weight_norm(module, name="weight", dim=0):
    return module


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    return module


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    return module
