"""MMEngine: registries; see the package `mmengine.model` for modules.

## Example

```python
import torch
from mmengine import Registry

LAYERS = Registry("layers")


@LAYERS.register_module()
class Gate(torch.nn.Module):
    def forward(self, x):
        y = torch.sigmoid(x)
        y *= x
        return y


Gate()(torch.ones(3, requires_grad=True)).sum().backward()  # <- GL201
```

```python
import torch
from mmengine import Registry

LAYERS = Registry("layers")


@LAYERS.register_module()
class Gate(torch.nn.Module):
    def forward(self, x):
        y = torch.sigmoid(x)
        return y * x


Gate()(torch.ones(3, requires_grad=True)).sum().backward()
```
"""

from mmengine.registry import Registry
