"""timm's loss scalers: one call runs the backward pass and, unless it is put off, the step.

## Example

```python
import torch
from timm.utils import NativeScaler

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = NativeScaler()
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    scaler(loss, optimizer, parameters=model.parameters())  # <- GL401
```

```python
import torch
from timm.utils import NativeScaler

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = NativeScaler()
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).pow(2).mean()
    scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
```
"""

import copy

import torch
from gradlint_model import writes

from timm.utils.cuda import ApexScaler, NativeScaler


class ModelEmaV2(torch.nn.Module):
    def __init__(self, model, decay=0.9999, device=None):
        super().__init__()
        self.module = copy.deepcopy(model)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update(self, model, step=None):
        writes(list(self.module.parameters()))

    def set(self, model):
        writes(list(self.module.parameters()))


class ModelEmaV3(ModelEmaV2):
    pass


class ModelEma:
    def __init__(self, model, decay=0.9999, device="", resume=""):
        self.ema = copy.deepcopy(model)
        self.ema.requires_grad_(False)

    def update(self, model):
        writes(list(self.ema.parameters()))
