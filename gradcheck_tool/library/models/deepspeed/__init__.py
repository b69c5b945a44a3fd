"""DeepSpeed: an engine runs the model, the backward pass, and steps that clear the gradients, too.

## Example

```python
import deepspeed
import torch

model = torch.nn.Linear(4, 1)
engine, optimizer, _, _ = deepspeed.initialize(model=model, config={})
for _ in range(3):
    loss = engine(torch.ones(8, 4)).pow(2).mean()
    engine.backward(loss)
    engine.step()
```

```python
import deepspeed
import torch

model = torch.nn.Linear(4, 1)
engine, optimizer, _, _ = deepspeed.initialize(model=model, config={})
loss = engine(torch.ones(8, 4)).pow(2).mean()
engine.backward(loss)
engine.backward(loss)  # <- GL101
```
"""

import contextlib

import torch
from gradlint_model import clear_gradients, unknown


class DeepSpeedEngine(torch.nn.Module):
    def __init__(self, model, optimizer=None):
        super().__init__()
        self.module = model
        self.optimizer = optimizer

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def backward(self, loss, retain_graph=False, scale_wrt_gas=True):
        loss.backward(retain_graph=retain_graph)

    def no_sync(self):
        return contextlib.nullcontext()

    def step(self, lr_kwargs=None):
        clear_gradients()


def initialize(
    args=None,
    model=None,
    optimizer=None,
    model_parameters=None,
    training_data=None,
    lr_scheduler=None,
    **options,
):
    made = unknown() if optimizer is None else optimizer
    return DeepSpeedEngine(model, made), made, unknown(), unknown()
