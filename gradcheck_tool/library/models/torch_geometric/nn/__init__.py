"""PyTorch Geometric: layers with parameters, poolings over nodes, and a base for layers of one's own.

## Example

```python
import torch
from torch_geometric.nn import GCNConv

layer = GCNConv(4, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
edges = torch.tensor([[0, 1], [1, 0]])
for _ in range(3):
    loss = layer(torch.ones(2, 4), edges).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from torch_geometric.nn import GCNConv, global_mean_pool

layer = GCNConv(4, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
edges = torch.tensor([[0, 1], [1, 0]])
for _ in range(3):
    optimizer.zero_grad()
    nodes = layer(torch.ones(2, 4), edges)
    global_mean_pool(nodes, torch.zeros(2, dtype=torch.long)).sum().backward()
    optimizer.step()
```
"""

import torch
from gradlint_model import computes, module, unknown


class MessagePassing(torch.nn.Module):
    def __init__(self, aggr="sum", **options):
        super().__init__()

    def propagate(self, edge_index, size=None, **kwargs):
        return unknown()


def global_add_pool(x, batch, size=None):
    return computes(x)


def global_mean_pool(x, batch, size=None):
    return computes(x)


def global_max_pool(x, batch, size=None):
    return computes(x)


def _layer(*args, **kwargs):
    return module()


def __getattr__(name):
    return _layer if name[0].isupper() else unknown()
