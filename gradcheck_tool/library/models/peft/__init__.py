"""PEFT: the model is frozen, and adapters with parameters of their own are put into it.

## Example

```python
import torch
from peft import LoraConfig, get_peft_model

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
model = get_peft_model(model, LoraConfig(target_modules=["0"]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
```
"""

from gradlint_model import module, touches


def get_peft_model(model, peft_config, adapter_name="default", **kwargs):
    touches(model)
    return module()


def prepare_model_for_kbit_training(model, use_gradient_checkpointing=True, **kwargs):
    touches(model)
    return model


class PeftModel:
    @classmethod
    def from_pretrained(cls, model, model_id, adapter_name="default", is_trainable=False, **kwargs):
        touches(model)
        return module()
