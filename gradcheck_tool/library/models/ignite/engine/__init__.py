"""Ignite's engine calls its process function with one batch after the other.

## Example

```python
import torch
from ignite.engine import Engine

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()


Engine(update).run([torch.ones(8, 4)] * 4)
```

```python
import torch
from ignite.engine import Engine

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def update(engine, batch):
    optimizer.zero_grad()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()


Engine(update).run([torch.ones(8, 4)] * 4)
```

```python
import torch
from ignite.engine import create_supervised_trainer

model = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Flatten(0))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
trainer = create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss)
trainer.run([(torch.ones(8, 4), torch.ones(8))] * 4)
```
"""

from ignite.engine.engine import Engine


def create_supervised_trainer(
    model,
    optimizer,
    loss_fn,
    device=None,
    non_blocking=False,
    prepare_batch=None,
    model_transform=None,
    output_transform=None,
    **options,
):
    def update(engine, batch):
        optimizer.zero_grad()
        model.train()
        x, y = batch
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()

    return Engine(update)


def create_supervised_evaluator(model, metrics=None, device=None, **options):
    return Engine(lambda engine, batch: None)
