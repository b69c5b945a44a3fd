"""Loaders of graphs: batches are data, which nothing requires gradients of.

## Example

```python
import torch
from torch_geometric.loader import DataLoader

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(graphs):
    for batch in DataLoader(graphs, batch_size=2):
        model(batch.x).mean().backward()  # <- GL401
        optimizer.step()
```

```python
import torch
from torch_geometric.loader import DataLoader

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(graphs):
    for batch in DataLoader(graphs, batch_size=2):
        optimizer.zero_grad()
        model(batch.x).mean().backward()
        optimizer.step()
```
"""

from gradlint_model import data


class _Loader:
    def __init__(self, *args, **kwargs):
        self.dataset = args[0] if args else data()

    def __iter__(self):
        while data():
            yield data()


def __getattr__(name):
    return _Loader
