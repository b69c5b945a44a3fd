"""GL325: a module has a Parameter that nothing reads."""

from collections.abc import Iterator

from gradcheck_tool import ParameterUnread, Rule, Severity, Violation


class UnreadParameter(Rule):
    """A module makes a Parameter that its forward does not use.

    ## What it detects

    `self.name = nn.Parameter(...)` in the constructor of an `nn.Module`, where nothing in the file but
    the module's own initialisation mentions `name`.

    ## Why it is wrong

    The Parameter never gets a gradient: what it was made to learn stays as it is, often because forward
    uses the number that it was initialised with. With DistributedDataParallel the second iteration
    raises.

    ## Example

    ```python
    import torch
    from torch import nn


    class Normalize(nn.Module):
        def __init__(self, channels, scale):
            super().__init__()
            self.scale = scale
            self.weight = nn.Parameter(torch.empty(channels))  # <- GL325
            self.weight.data.fill_(scale)

        def forward(self, x):
            return self.scale * x / x.norm(dim=1, keepdim=True)


    layer = Normalize(3, 20.0)
    net = nn.Sequential(nn.Linear(3, 3), layer)
    net(torch.ones(2, 3)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Normalize(nn.Module):
        def __init__(self, channels, scale):
            super().__init__()
            self.scale = scale
            self.weight = nn.Parameter(torch.empty(channels))
            self.weight.data.fill_(scale)

        def forward(self, x):
            return self.weight * x / x.norm(dim=1, keepdim=True)


    layer = Normalize(3, 20.0)
    net = nn.Sequential(nn.Linear(3, 3), layer)
    net(torch.ones(2, 3)).sum().backward()
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL325"
    name = "unread-parameter"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the parameter gets no gradient"
    symptom = "assert layer.weight.grad is None"

    def on_parameter_unread(self, event: ParameterUnread) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"nothing reads the Parameter `{event.attribute}` of `{event.module}`: it gets no gradient",
            "use it in forward, or make it a buffer, or remove it",
        )
