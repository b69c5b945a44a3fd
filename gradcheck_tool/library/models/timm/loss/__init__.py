"""timm's losses.

## Example

```python
import torch
from timm.loss import LabelSmoothingCrossEntropy

model, criterion = torch.nn.Linear(4, 3), LabelSmoothingCrossEntropy(0.1)
loss = criterion(model(torch.ones(2, 4)), torch.tensor([0, 2]))
loss.backward()
loss.backward()  # <- GL101
```

```python
import torch
from timm.loss import LabelSmoothingCrossEntropy

model, criterion = torch.nn.Linear(4, 3), LabelSmoothingCrossEntropy(0.1)
loss = criterion(model(torch.ones(2, 4)), torch.tensor([0, 2]))
loss.backward()
```
"""

import torch
from gradlint_model import complete


@complete
class LabelSmoothingCrossEntropy(torch.nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, x, target):
        return torch.nn.functional.cross_entropy(x, target, label_smoothing=self.smoothing)


@complete
class SoftTargetCrossEntropy(torch.nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, target):
        return torch.sum(-target * torch.nn.functional.log_softmax(x, dim=-1), dim=-1).mean()
