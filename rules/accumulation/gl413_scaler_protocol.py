"""GL413: a GradScaler's calls are out of order."""

from collections.abc import Iterator

from gradcheck_tool import Rule, ScalerError, Severity, Violation, when

_WHY = {
    "unscale-twice": (
        "its gradients have been unscaled already",
        "call unscale_ once for each optimizer and step",
    ),
    "unscale-after-step": ("it has already stepped", "call unscale_ before step"),
    "step-twice": ("it has already stepped since the last update()", "call update() once after every step"),
    "never-scaled": ("no loss was scaled", "back-propagate `scaler.scale(loss)` before the step"),
}


class ScalerOutOfOrder(Rule):
    """A GradScaler's methods are called in an order that it does not allow.

    ## What it detects

    `unscale_` twice for one optimizer, or after its step; `step` twice without `update`; `step` or
    `update` without a loss that went through `scale`.

    ## Why it is wrong

    The scaler keeps a state for each optimizer between two updates. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale((weight**2).sum()).backward()
        scaler.step(optimizer)  # <- GL413
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    (weight**2).sum().backward()
    scaler.step(optimizer)  # <- GL413
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale((weight**2).sum()).backward()
    scaler.unscale_(optimizer)
    print(weight.grad)
    scaler.unscale_(optimizer)  # <- GL413
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale((weight**2).sum()).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)  # <- GL413
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale((weight**2).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    ```

    ## References

    - [`torch.amp.GradScaler`](https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler)
    """

    code = "GL413"
    name = "scaler-out-of-order"
    severity = Severity.ERROR
    predicts = (
        "step() has already been called since the last update() | "
        "unscale_() has already been called on this optimizer since the last update() | "
        "unscale_() is being called after step() | Attempted ... but _scale is None"
    )
    triggers = (*when.TRAINING, when.CLIP_GRAD, when.SCALER, when.UNSCALE)

    def on_scaler_error(self, event: ScalerError) -> Iterator[Violation]:
        why, advice = _WHY[event.kind]
        whose = f" for `{event.optimizer}`" if event.optimizer else ""
        yield self.finding(event, f"`{event.scaler}.{event.method}()` fails{whose}: {why}", advice)
