"""GL502: `.numpy()` on a tensor that requires a gradient."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, callee_text, receiver_replaced, when


class NumpyOnGrad(Rule):
    """A tensor that requires a gradient is converted to a numpy array.

    ## What it detects

    `.numpy()`, `numpy.asarray(t)` and numpy functions, `numpy.sum(t)` among them, called on a tensor that
    requires a gradient.

    ## Why it is wrong

    numpy records no gradients, and PyTorch raises where one would be lost. `numpy.sum`, `mean`, `max` and
    the like ask the tensor for its own method, with arguments that it does not take: PyTorch raises, whether
    the tensor requires a gradient or not.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    prediction = model(torch.randn(4, 3))
    values = prediction.numpy()  # <- GL502
    ```

    ```python
    import numpy as np
    import torch

    model = torch.nn.Linear(3, 1)
    total = np.sum(model(torch.randn(4, 3)))  # <- GL502
    ```

    ```python
    import numpy as np
    import torch

    model = torch.nn.Linear(3, 1)
    largest = np.max(model(torch.randn(4, 3)))  # <- GL502
    ```

    ```python
    import numpy as np
    import torch

    model = torch.nn.Linear(3, 1)
    spread = np.std(model(torch.randn(4, 3)))  # <- GL502
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    prediction = model(torch.randn(4, 3))
    values = prediction.detach().numpy()
    ```

    ## Fix safety

    Where the values are used the gradient was lost in any case (the call raises), so detaching is safe.

    ## References

    - [`torch.Tensor.numpy`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html)
    """

    code = "GL502"
    name = "numpy-on-grad"
    severity = Severity.ERROR
    predicts = (
        "Can't call numpy() on Tensor that requires grad | got an unexpected keyword argument 'axis' | "
        "argument 'dim' must be int, not NoneType | received an invalid combination of arguments"
    )
    triggers = (when.NUMPY,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "numpy-on-grad":
            detached = None
            if callee_text(event.site).endswith(".numpy"):
                detached = receiver_replaced(event.site, "{}.detach()")
            yield self.finding(
                event,
                f"`{event.tensor}` requires a gradient, and numpy cannot record gradients",
                "use `.detach()` first if only the values are needed, and torch operations if the "
                "gradient is",
                fix=self.safe_fix("Detach first", detached),
            )
