"""PyTorch Lightning: the trainer calls `training_step`, and differentiates what that returns.

With automatic optimization, gradients are cleared and applied between two calls. With manual optimization
(`self.automatic_optimization = False`) the module does all that itself, on what `self.optimizers()` gives.

## Example

```python
import lightning
import torch


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        with torch.no_grad():
            loss = self.layer(batch).pow(2).mean()
        return loss  # <- GL501

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(
    max_steps=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Regression(), torch.utils.data.DataLoader(torch.ones(4, 4)))  # <- raises
```

```python
import lightning
import torch


class Recurrent(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.state = torch.zeros(4)

    def training_step(self, batch, batch_idx):
        self.state = torch.tanh(self.layer(batch) + self.state)
        return self.state.mean()  # <- GL102

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(
    max_steps=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Recurrent(), torch.utils.data.DataLoader(torch.ones(4, 4)))  # <- raises
```

```python
import lightning
import torch


class Manual(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.layer(batch).mean())
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

trainer = lightning.Trainer(
    max_steps=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Manual(), torch.utils.data.DataLoader(torch.ones(4, 4)))
```
"""

import torch
from gradlint_model import clear_gradients, data, differentiate, driver, rounds, unknown


class LightningModule(torch.nn.Module):
    automatic_optimization = True
    _optimizers = None

    @driver("training_step")
    def _train(self):
        for _ in rounds():
            loss = self.training_step(data(), data(), data())
            if self.automatic_optimization:
                differentiate(self.training_step, loss)
                clear_gradients()

    def manual_backward(self, loss, *args, **kwargs):
        loss.backward(*args, **kwargs)

    def log(self, name, value, *args, **options):
        return None

    def log_dict(self, dictionary, *args, **options):
        return None

    def print(self, *args, **kwargs):
        return None

    def save_hyperparameters(self, *args, **options):
        return None

    def optimizers(self, use_pl_optimizer=True):
        if self._optimizers is None:
            found = _optimizers_in(self.configure_optimizers())
            self._optimizers = found[0] if len(found) == 1 else found
        return self._optimizers


class Trainer:
    def fit(self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, ckpt_path=None):
        model._train()


def _optimizers_in(configured):
    """The optimizers among what `configure_optimizers` may return: one, several, or a table for each."""
    if isinstance(configured, dict):
        return _optimizers_in(configured["optimizer"])
    if isinstance(configured, (list, tuple)):
        return configured[0] if len(configured) == 2 and isinstance(configured[0], list) else configured
    return [configured] if isinstance(configured, torch.optim.Optimizer) else [unknown()]
