"""GL315: a Parameter is made of a result and loses its history."""

from collections.abc import Iterator

from gradcheck_tool import Draft, ParameterOfResult, Rule, Severity


class ParameterOfResultRule(Rule):
    """`nn.Parameter` is made of a tensor that has a history.

    ## What it detects

    `nn.Parameter(t)` where `t` was computed from something that requires a gradient, and a backward whose
    gradients end there: they come to what `t` was computed from in no other way.

    ## Why it is wrong

    `nn.Parameter` keeps the values and drops the history: no gradient flows from the new Parameter to
    what it was computed from. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn

    encoder = nn.Linear(3, 3)
    prototype = nn.Parameter(encoder(torch.ones(1, 3)))  # <- GL315
    loss = (prototype * torch.ones(3)).sum()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    encoder = nn.Linear(3, 3)
    prototype = encoder(torch.ones(1, 3))
    loss = (prototype * torch.ones(3)).sum()
    loss.backward()
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL315"
    name = "parameter-of-result"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "no gradient flows to what the Parameter was computed from"
    symptom = "assert encoder.weight.grad is None"

    def on_parameter_of_result(self, event: ParameterOfResult) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"nn.Parameter drops the history of `{event.tensor}`: no gradient flows to what it was "
            "computed from",
            "use the tensor itself, or `.detach()` it if only its values are wanted",
        )
