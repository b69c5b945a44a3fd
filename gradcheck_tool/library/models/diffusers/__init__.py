"""diffusers: models and pipelines by name, and schedules of noise, whose `step` trains nothing.

## Example

```python
import torch
from diffusers import DDPMScheduler

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = DDPMScheduler(num_train_timesteps=10)
for _ in range(3):
    clean, noise = torch.ones(2, 4), torch.randn(2, 4)
    noisy = schedule.add_noise(clean, noise, torch.tensor([1, 2]))
    loss = (model(noisy) - noise).pow(2).mean()
    loss.backward()  # <- GL401
    optimizer.step()
```

```python
import torch
from diffusers import DDPMScheduler

model = torch.nn.Linear(4, 4)
schedule = DDPMScheduler(num_train_timesteps=10)
schedule.set_timesteps(5)
sample = torch.randn(2, 4)
with torch.no_grad():
    for step in schedule.timesteps:
        sample = schedule.step(model(sample), step, sample).prev_sample
```
"""

from gradlint_model import computes, data, module, unknown


class _Schedule:
    def __init__(self, *args, **kwargs):
        self.timesteps = data()
        self.config = data()

    @classmethod
    def from_pretrained(cls, *args, **kwargs):
        return cls()

    @classmethod
    def from_config(cls, *args, **kwargs):
        return cls()

    def set_timesteps(self, *args, **kwargs):
        return None

    def add_noise(self, original_samples, noise, timesteps):
        return computes(original_samples, noise)

    def get_velocity(self, sample, noise, timesteps):
        return computes(sample, noise)

    def scale_model_input(self, sample, *args, **kwargs):
        return sample

    def step(self, model_output, timestep, sample, *args, **kwargs):
        return unknown()


class _Model:
    def __call__(self, *args, **kwargs):
        return module()

    def from_pretrained(self, *args, **kwargs):
        return module()

    def from_config(self, *args, **kwargs):
        return module()


def __getattr__(name):
    if name.endswith("Scheduler"):
        return _Schedule
    return _Model() if name.endswith("Model") or name.startswith("Autoencoder") else unknown()
