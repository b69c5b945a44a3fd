"""Lightning Fabric: `Fabric` runs the backward pass, and hands back what it sets up.

Clearing, stepping and the loop stay with the program.

## Example

```python
import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu")
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    fabric.backward(loss)  # <- GL401
    optimizer.step()
```

```python
import torch
from lightning.fabric import Fabric

fabric = Fabric(accelerator="cpu")
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = fabric.setup(model, optimizer)
for step in range(4):
    with fabric.no_backward_sync(model, enabled=step % 2 == 0):
        loss = model(torch.ones(8, 4)).pow(2).mean()
        fabric.backward(loss)
    if step % 2:
        optimizer.step()
        optimizer.zero_grad()
```
"""

from lightning.fabric.fabric import Fabric
