"""GL313: a module keeps a trainable tensor that is no Parameter."""

from collections.abc import Iterator

from gradcheck_tool import ModuleAttribute, Rule, Severity, Violation


class TensorForParameter(Rule):
    """A module keeps a trainable tensor in an attribute without making it a Parameter.

    ## What it detects

    `self.w = torch.randn(..., requires_grad=True)` in an `nn.Module`, where the tensor is not given to
    an optimizer in another way and no other file of the repository mentions it.

    ## Why it is wrong

    `parameters()` lists Parameters only. The tensor collects gradients that nothing applies or clears,
    and stays behind when the module is moved or saved. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = torch.ones(4, requires_grad=True)  # <- GL313

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
            self.factor = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return self.factor * x


    model = Scale()
    output = model(torch.randn(2, 4))
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL313"
    name = "tensor-for-parameter"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the tensor is missing from `parameters()`"
    symptom = "assert not list(model.parameters())"

    def on_module_attribute(self, event: ModuleAttribute) -> Iterator[Violation]:
        if event.kind == "tensor":
            yield self.finding(
                event,
                f"`self.{event.attribute}` requires a gradient but is no Parameter of `{event.module}`, "
                "so nothing "
                "trains it",
                f"use `self.{event.attribute} = nn.Parameter(...)`",
            )
