"""Transformers: pre-trained models, and a trainer that differentiates what `compute_loss` returns.

## Example

```python
import torch
from transformers import Trainer


class Detached(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, inputs["labels"])
        return loss.detach()  # <- GL501
```

```python
import torch
from transformers import Trainer


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, inputs["labels"])
        return (loss, outputs) if return_outputs else loss
```
"""

from transformers.trainer import Seq2SeqTrainer, Trainer
