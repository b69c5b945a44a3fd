"""MMEngine's bases of modules: those of `torch.nn`, with an initialisation of weights.

## Example

```python
import torch
from mmengine.model import BaseModule


class Stack(BaseModule):
    def __init__(self):
        super().__init__()
        self.layers = []  # <- GL311
        for _ in range(2):
            self.layers.append(torch.nn.Linear(2, 2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


Stack()(torch.ones(3, 2)).sum().backward()
```

```python
import torch
from mmengine.model import BaseModule, ModuleList


class Stack(BaseModule):
    def __init__(self):
        super().__init__()
        self.layers = ModuleList()
        for _ in range(2):
            self.layers.append(torch.nn.Linear(2, 2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


Stack()(torch.ones(3, 2)).sum().backward()
```
"""

import torch
from gradlint_model import complete


@complete
class BaseModule(torch.nn.Module):
    def __init__(self, init_cfg=None):
        super().__init__()
        self.init_cfg = init_cfg

    def init_weights(self):
        return None


@complete
class Sequential(BaseModule, torch.nn.Sequential):
    def __init__(self, *args, init_cfg=None):
        torch.nn.Sequential.__init__(self, *args)
        self.init_cfg = init_cfg


@complete
class ModuleList(BaseModule, torch.nn.ModuleList):
    def __init__(self, modules=None, init_cfg=None):
        torch.nn.ModuleList.__init__(self, modules)
        self.init_cfg = init_cfg


@complete
class ModuleDict(BaseModule, torch.nn.ModuleDict):
    def __init__(self, modules=None, init_cfg=None):
        torch.nn.ModuleDict.__init__(self, modules)
        self.init_cfg = init_cfg
