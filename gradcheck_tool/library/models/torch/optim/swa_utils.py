"""Averages of models: a copy that is written to outside of the graph.

## Example

```python
import torch
from torch.optim.swa_utils import AveragedModel

model = torch.nn.Linear(4, 1)
averaged = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
    averaged.update_parameters(model)
```
"""

import copy

import torch
from gradlint_model import writes


class AveragedModel(torch.nn.Module):
    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        self.module = copy.deepcopy(model)

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        writes(list(self.module.parameters()))


def update_bn(loader, model, device=None):
    return None
