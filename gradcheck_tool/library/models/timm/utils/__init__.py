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

from timm.utils.cuda import ApexScaler, NativeScaler
