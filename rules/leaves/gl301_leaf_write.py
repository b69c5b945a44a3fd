"""GL301: an in-place operation on a leaf that requires a gradient."""

import re
from collections.abc import Iterator

from gradcheck_tool import LeafWrite, Rule, Severity, Violation, when

_SUPPOSED = "has parameters that require a gradient"
_SWITCHES = re.compile(r"\.requires_grad(?:_\(|\s*=[^=])|toggle_\w*grad|freeze")


class InplaceOnLeaf(Rule):
    """A leaf tensor that requires a gradient is changed in place while gradients are recorded.

    ## What it detects

    `w += 1`, `w.add_(1)`, `w[0] = 1`, `w.zero_()` and the like, in grad mode, on a parameter or another
    leaf with `requires_grad=True`, directly or through a view of it. Inside `torch.no_grad()`, on
    `.data` or `.detach()`, and by `torch.nn.init` it is allowed.

    ## Why it is wrong

    A leaf has no history; recording the change would turn it into a result, and its `.grad` would no
    longer belong to the value that the optimizer holds. PyTorch raises.

    ## Example

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    loss = (weight * torch.randn(3)).sum()
    loss.backward()
    weight -= 0.1 * weight.grad  # <- GL301
    ```

    ```python
    import torch

    layer = torch.nn.Linear(3, 2)
    layer.bias[0] = 0.0  # <- GL301
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(3, requires_grad=True)
    loss = (weight * torch.randn(3)).sum()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
    ```

    ```python
    import torch

    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.bias[0] = 0.0
    ```

    ## Fix safety

    There is no fix: the change may be an update (which belongs under `no_grad`) or part of the
    computation (which needs a new tensor).

    ## References

    - [In-place operations with autograd](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd)
    """

    code = "GL301"
    name = "inplace-on-leaf"
    severity = Severity.ERROR
    predicts = "a leaf Variable that requires grad"
    triggers = (when.SHARED_WRITE, when.INPLACE_LAYER, when.RESIZE, when.SET, when.DETACH)

    def on_leaf_write(self, event: LeafWrite) -> Iterator[Violation]:
        # That a model's parameters require a gradient is no assumption to make where the file switches that.
        is_supposed = event.is_parameter and any(_SUPPOSED in each for each in event.assumes)
        if is_supposed and _SWITCHES.search(event.site.module.source):
            return
        through = "through a view " if event.through_view else ""
        yield self.finding(
            event,
            f"`{event.write}` changes `{event.tensor}`, a leaf that requires a gradient, in place "
            f"{through}while "
            "gradients are recorded",
            "do it under torch.no_grad(), or compute a new tensor",
        )
