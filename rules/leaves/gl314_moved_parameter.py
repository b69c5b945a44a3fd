"""GL314: a Parameter is moved or cast when it is made, and is no Parameter any more."""

from collections.abc import Iterator

from gradcheck_tool import ModuleAttribute, Rule, Severity, Violation


class MovedParameter(Rule):
    """The result of moving or casting a Parameter is kept instead of the Parameter.

    ## What it detects

    `self.w = nn.Parameter(...).to(device)`, `.cuda()`, `.double()`, `* 0.1` and the like in an
    `nn.Module`.

    ## Why it is wrong

    The result of an operation on a Parameter is an ordinary tensor with a history. The module does not
    register it, and its `.grad` stays None. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4)).double()  # <- GL314

        def forward(self, x):
            return self.factor * x


    model = Scale()
    output = model(torch.randn(2, 4))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4, dtype=torch.float64))

        def forward(self, x):
            return self.factor * x


    model = Scale()
    output = model(torch.randn(2, 4))
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL314"
    name = "moved-parameter"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the tensor is missing from `parameters()`"
    symptom = "assert not list(model.parameters())"

    def on_module_attribute(self, event: ModuleAttribute) -> Iterator[Violation]:
        if event.kind == "moved-parameter":
            yield self.finding(
                event,
                f"`{event.call}` is the result of an operation on a Parameter, so `{event.module}` does "
                "not register "
                f"it as `self.{event.attribute}`",
                "do the conversion inside nn.Parameter(...)",
            )
