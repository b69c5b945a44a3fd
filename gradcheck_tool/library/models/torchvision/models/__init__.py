"""Models of torchvision: modules with parameters, by function, by name, or by attribute.

## Example

```python
import torch
import torchvision

model = torchvision.models.resnet18(num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.ones(2, 3, 32, 32)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from torchvision import models

name = "resnet18"
model = models.__dict__[name](num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = getattr(model, "forward")(torch.ones(2, 3, 32, 32)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from gradlint_model import module


def get_model(name, **config):
    return module()


def _builder(*args, **kwargs):
    return module()


def __getattr__(name):
    return _builder
