"""MMCV before version 2: the bases of modules, and decorators for half precision.

## Example

```python
import torch
from mmcv.runner import BaseModule, auto_fp16


class Block(BaseModule):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 2, 1)

    @auto_fp16()
    def forward(self, x):
        out = self.conv(x).relu()
        out += x
        return out


Block()(torch.ones(1, 2, 3, 3)).sum().backward()  # <- GL201
```

```python
import torch
from mmcv.runner import BaseModule, auto_fp16


class Block(BaseModule):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 2, 1)

    @auto_fp16()
    def forward(self, x):
        return self.conv(x).relu() + x


Block()(torch.ones(1, 2, 3, 3)).sum().backward()
```
"""

from mmengine.model import BaseModule, ModuleDict, ModuleList, Sequential


def auto_fp16(apply_to=None, out_fp32=False, supported_types=None):
    return lambda method: method


def force_fp32(apply_to=None, out_fp16=False):
    return lambda method: method
