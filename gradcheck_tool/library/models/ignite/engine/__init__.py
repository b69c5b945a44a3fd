"""Ignite's engine calls its process function with one batch after the other.

## Example

```python
import torch
from ignite.engine import Engine

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()


Engine(update).run([torch.ones(8, 4)] * 4)
```

```python
import torch
from ignite.engine import Engine

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(engine, batch):
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


Engine(update).run([torch.ones(8, 4)] * 4)
```
"""

from ignite.engine.engine import Engine
