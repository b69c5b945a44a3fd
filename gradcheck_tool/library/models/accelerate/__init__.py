"""Accelerate: `Accelerator` runs the backward pass, and hands back what it prepares.

Models and optimizers come back in wrappers that autograd does not see. Which backward passes and steps of an
accumulation are real is decided by the accelerator, whose managers change nothing that is recorded.

## Example

```python
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(3):
    loss = model(torch.ones(8, 4)).pow(2).mean()
    accelerator.backward(loss)  # <- GL401
    optimizer.step()
```

```python
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = accelerator.prepare(torch.nn.Linear(4, 1))
loss = model(torch.ones(8, 4)).pow(2).mean()
accelerator.backward(loss)
accelerator.backward(loss)  # <- GL101
```

```python
import torch
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(4):
    with accelerator.accumulate(model):
        loss = model(torch.ones(8, 4)).pow(2).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
```
"""

from accelerate.accelerator import Accelerator
