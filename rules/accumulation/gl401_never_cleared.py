"""GL401: gradients of an earlier step are added to those of the next one."""

from collections.abc import Iterator

from gradcheck_tool import Accumulation, BackwardCall, Replacement, Rule, Severity, Violation, when


class NeverCleared(Rule):
    """A backward adds to gradients that a step has already applied.

    ## What it detects

    On some path: backward, step, and then another backward, without clearing the gradients in between
    (`optimizer.zero_grad()`, `model.zero_grad()`, `p.grad = None`, `p.grad.zero_()`, a helper, base
    class or framework that does it). Where in the iteration they are cleared does not matter, and
    several backward calls before one step (gradient accumulation) are fine. An update by hand, and a
    total to which the gradient of an input is added, count as steps.

    ## Why it is wrong

    `backward` adds to `.grad`. Every step then applies all earlier gradients once more, so the step
    size grows with the number of iterations. Nothing is raised; training is unstable or just worse.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        loss = model(inputs).sum()
        loss.backward()  # <- GL401
        optimizer.step()
        norms.append(model.weight.grad.norm().item())
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        (inputs @ weight).sum().backward()  # <- GL401
        norms.append(weight.grad.norm().item())
        with torch.no_grad():
            weight -= 0.1 * weight.grad
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(inputs).sum()
        loss.backward()
        optimizer.step()
        norms.append(model.weight.grad.norm().item())
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        (inputs @ weight).sum().backward()
        norms.append(weight.grad.norm().item())
        with torch.no_grad():
            weight -= 0.1 * weight.grad
        weight.grad = None
    ```

    ## Fix safety

    Whether the gradients are to be cleared here is for a reader to confirm, so the fix is unsafe. It is
    offered where an optimizer is known.

    ## References

    - [Zeroing out gradients](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html)
    - [`torch.optim.Optimizer.zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
    """

    code = "GL401"
    name = "never-cleared"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "gradients of earlier iterations are applied again"
    symptom = "assert norms[-1] > 3.9 * norms[0]  # the true gradient is the same in every iteration"
    triggers = when.TRAINING

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        applied = [item for item in event.accumulated if item.stepped and item.certain]
        if applied:
            owner = applied[0].owner
            clear = Replacement(event.site, f"{owner}.zero_grad()", insert=True) if owner else None
            fix = self.unsafe_fix("Clear the gradients before backward", clear)
            if event.unreached is not None:
                message, advice = _message(event, applied), "correct the condition that it depends on"
                yield self.finding(
                    event, f"this is never come to, so {message}", advice, site=event.unreached
                )
            else:
                yield self.finding(event, _message(event, applied), _advice(applied[0]), fix=fix)


def _message(event: BackwardCall, applied: list[Accumulation]) -> str:
    named = list(dict.fromkeys(item.owner or item.parameter for item in applied))
    whose = " and ".join(f"`{name}`" for name in named[:2])
    used = "that an earlier step has already applied" if applied[0].owner else "that were already used"
    return (
        f"the backward of `{event.root}` adds to gradients of {whose} {used}: nothing clears them in between"
    )


def _advice(item: Accumulation) -> str:
    if item.owner:
        return f"call `{item.owner}.zero_grad()` once for every step"
    return f"set `{item.parameter}.grad = None` when it has been used"
