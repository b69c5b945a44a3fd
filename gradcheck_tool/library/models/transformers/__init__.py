"""Transformers: pre-trained models, schedules, and a trainer that differentiates what `compute_loss` returns.

What a model returns is not known: a loss, logits and hidden states with a graph where the model trains.

## Example

```python
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Detached(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, inputs["labels"])
        return loss.detach()  # <- GL501


config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
sample = {"input_ids": torch.ones(4, dtype=torch.long), "labels": torch.tensor(1)}
trainer = Detached(
    model=BertForSequenceClassification(config),
    args=TrainingArguments("out", max_steps=1, use_cpu=True, report_to=[]),
    train_dataset=[sample] * 8,
)
trainer.train()  # <- raises
```

```python
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Twice(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).logits.pow(2).mean()
        self.accelerator.backward(loss)
        self.accelerator.backward(loss)  # <- GL101
        return loss.detach()


config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
sample = {"input_ids": torch.ones(4, dtype=torch.long), "labels": torch.tensor(1)}
trainer = Twice(
    model=BertForSequenceClassification(config),
    args=TrainingArguments("out", max_steps=1, use_cpu=True, report_to=[]),
    train_dataset=[sample] * 8,
)
trainer.train()
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

```python
import torch
from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup

config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)
model = BertForSequenceClassification(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
schedule = get_linear_schedule_with_warmup(optimizer, 1, 10)
for _ in range(3):
    tokens = torch.ones(2, 4, dtype=torch.long)
    outputs = model(input_ids=tokens, labels=torch.ones(2, dtype=torch.long))
    outputs.loss.backward()  # <- GL401
    optimizer.step()
    schedule.step()
```
"""

import torch
from gradlint_model import data, module, unknown

from transformers.modeling_utils import PreTrainedModel
from transformers.trainer import Seq2SeqTrainer, Trainer


class AdamW(torch.optim.AdamW):
    pass


def set_seed(seed, deterministic=False):
    return None


def get_scheduler(name, optimizer, num_warmup_steps=None, num_training_steps=None, **kwargs):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def get_constant_schedule(optimizer, last_epoch=-1):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def get_constant_schedule_with_warmup(optimizer, num_warmup_steps, last_epoch=-1):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def get_linear_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps, last_epoch=-1):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


def get_cosine_schedule_with_warmup(optimizer, num_warmup_steps, num_training_steps, **kwargs):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)


class _Model:
    """A class of models: what it makes is a module."""

    def __call__(self, *args, **kwargs):
        return module()

    def from_pretrained(self, *args, **kwargs):
        return module()

    def from_config(self, *args, **kwargs):
        return module()


class _Other:
    """A class of configurations, tokenizers and the like: what it makes holds no tensors with graphs."""

    def __call__(self, *args, **kwargs):
        return data()

    def from_pretrained(self, *args, **kwargs):
        return data()


def __getattr__(name):
    if name.endswith(("Model", "LMHeadModel")) or "For" in name:
        return _Model()
    return _Other() if name.endswith(("Config", "Tokenizer", "TokenizerFast", "Processor")) else unknown()
