"""timm: image models by name, and the pieces of its training script.

## Example

```python
import timm
import torch

model = timm.create_model("resnet10t", num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.ones(2, 3, 32, 32)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import timm
import torch

model = timm.create_model("resnet10t", num_classes=10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss = model(torch.ones(2, 3, 32, 32)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```
"""

from timm.models import create_model
