"""torch_ema: averages of parameters, which are put in their place by writes that autograd does not see.

## Example

```python
import torch
from torch_ema import ExponentialMovingAverage

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ema = ExponentialMovingAverage(model.parameters(), decay=0.99)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
    ema.update()
```

```python
import torch
from torch_ema import ExponentialMovingAverage

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ema = ExponentialMovingAverage(model.parameters(), decay=0.99)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
    ema.update()
with ema.average_parameters():
    print(model(torch.ones(8, 4)).mean())
```
"""

import contextlib

from gradlint_model import writes


class ExponentialMovingAverage:
    def __init__(self, parameters, decay, use_num_updates=True):
        self._parameters = list(parameters)

    def update(self, parameters=None):
        return None

    def store(self, parameters=None):
        return None

    def copy_to(self, parameters=None):
        writes(self._parameters if parameters is None else parameters)

    def restore(self, parameters=None):
        writes(self._parameters if parameters is None else parameters)

    @contextlib.contextmanager
    def average_parameters(self, parameters=None):
        self.copy_to(parameters)
        yield
        self.restore(parameters)
