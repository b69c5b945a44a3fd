"""GL312: a module keeps parameters in a plain list or dict."""

from collections.abc import Iterator

from gradcheck_tool import ModuleAttribute, Rule, Severity, Violation


class ParametersInList(Rule):
    """A module keeps parameters in a plain Python list, tuple or dict.

    ## What it detects

    An attribute of an `nn.Module` that is a list, tuple or dict of `nn.Parameter`s, or an iterator over
    them, which nothing else registers.

    ## Why it is wrong

    `parameters()` does not see them, so no optimizer trains them. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Scales(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = [nn.Parameter(torch.ones(4)) for _ in range(3)]  # <- GL312

        def forward(self, x):
            return sum(scale * x for scale in self.scales)


    model = Scales()
    output = model(torch.randn(2, 4))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Scales(nn.Module):
        def __init__(self):
            super().__init__()
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(3)])

        def forward(self, x):
            return sum(scale * x for scale in self.scales)


    model = Scales()
    output = model(torch.randn(2, 4))
    ```

    ## References

    - [`torch.nn.ParameterList`](https://docs.pytorch.org/docs/stable/generated/torch.nn.ParameterList.html)
    """

    code = "GL312"
    name = "parameters-in-list"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters are missing from `parameters()`"
    symptom = "assert not list(model.parameters())"

    def on_module_attribute(self, event: ModuleAttribute) -> Iterator[Violation]:
        if event.kind == "parameter-list":
            yield self.finding(
                event,
                f"`{event.module}` does not register the parameters in `self.{event.attribute}`, so "
                "nothing trains "
                "them",
                "use nn.ParameterList or nn.ParameterDict",
            )
