"""TorchMetrics: what a metric keeps has no graph, and what it returns for one batch may have one.

## Example

```python
import torch
import torchmetrics

model = torch.nn.Linear(4, 1)
metric = torchmetrics.MeanSquaredError()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    outputs = model(torch.ones(8, 4))
    metric.update(outputs, torch.ones(8, 1))
    loss = outputs.pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
import torchmetrics


class Total(torchmetrics.Metric):
    def __init__(self):
        super().__init__()
        self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, value):
        self.total += value.sum()

    def compute(self):
        return self.total


model = torch.nn.Linear(4, 1)
total = Total()
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()
    total.update(loss)
    model.zero_grad()
```
"""

import torch
from gradlint_model import data, touches, unknown


class Metric(torch.nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.update = torch.no_grad()(self.update)

    def add_state(self, name, default, dist_reduce_fx=None, persistent=False):
        setattr(self, name, default)

    def forward(self, *args, **kwargs):
        self.update(*args, **kwargs)
        return unknown()

    def update(self, *args, **kwargs):
        return None

    def compute(self):
        return unknown()

    def reset(self):
        return None


class MetricCollection(Metric):
    def __init__(self, metrics, *additional_metrics, prefix=None, postfix=None, compute_groups=True):
        super().__init__()

    def clone(self, prefix=None, postfix=None):
        return self


class _Batch(Metric):
    """A metric of the library itself."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def compute(self):
        return data()


def __getattr__(name):
    return _Batch if name[0].isupper() else unknown()
