"""higher: an inner loop of differentiable steps on a copy of the model.

A differentiable step keeps the graph of the loss, unless `track_higher_grads` is off.

## Example

```python
import higher
import torch

model = torch.nn.Linear(4, 1)
inner = torch.optim.SGD(model.parameters(), lr=0.1)
outer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, differentiable):
        differentiable.step(functional(torch.ones(8, 4)).pow(2).mean())
        loss = functional(torch.ones(8, 4)).pow(2).mean()
        loss.backward()  # <- GL401
    outer.step()
```

```python
import higher
import torch

model = torch.nn.Linear(4, 1)
inner = torch.optim.SGD(model.parameters(), lr=0.1)
outer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    outer.zero_grad()
    with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, differentiable):
        differentiable.step(functional(torch.ones(8, 4)).pow(2).mean())
        loss = functional(torch.ones(8, 4)).pow(2).mean()
        loss.backward()
    outer.step()
```
"""

import contextlib

from gradlint_model import module, touches, unknown


@contextlib.contextmanager
def innerloop_ctx(
    model,
    opt,
    device=None,
    copy_initial_weights=True,
    override=None,
    track_higher_grads=True,
):
    functional = module() if copy_initial_weights else model
    yield functional, _Differentiable(track_higher_grads)


class _Differentiable:
    def __init__(self, tracks):
        self._tracks = tracks

    def step(self, loss, params=None, override=None, grad_callback=None, **kwargs):
        if not self._tracks:
            touches(loss)
        return unknown()


def monkeypatch(module_, device=None, copy_initial_weights=True, track_higher_grads=True):
    return module() if copy_initial_weights else module_
