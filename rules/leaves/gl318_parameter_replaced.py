"""GL318: a parameter is replaced, or becomes trainable, after the optimizer was made without it."""

from collections.abc import Iterator

from gradcheck_tool import ParameterReplaced, Rule, Severity, Violation


class ReplacedAfterOptimizer(Rule):
    """A parameter or layer is replaced after the optimizer was made.

    ## What it detects

    An assignment of a new Parameter or sub-module to a model whose old parameters an optimizer already
    holds, with no new optimizer and no `add_param_group` before the next step. So is a parameter that was
    frozen, and not given to the optimizer, until `requires_grad` was set.

    ## Why it is wrong

    The optimizer goes on stepping the old tensor, which the model no longer uses; the new one, or the
    one that is no longer frozen, never moves. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model[1] = torch.nn.Linear(4, 1)  # <- GL318
    head = model[1].weight.detach().clone()
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 3))
    model[1] = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    head = model[1].weight.detach().clone()
    optimizer.zero_grad()
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    ```

    ## References

    - [`torch.optim.Optimizer.add_param_group`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html)
    """

    code = "GL318"
    name = "replaced-after-optimizer"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the new parameters do not move"
    symptom = "assert torch.equal(model[1].weight, head)"

    def on_parameter_replaced(self, event: ParameterReplaced) -> Iterator[Violation]:
        if event.was_frozen:
            message = (
                f"`{event.optimizer}` was made while `{event.attribute}` was frozen and will not train it"
            )
            yield self.finding(
                event, message, "give it to `add_param_group`, or make the optimizer afterwards"
            )
            return
        made = "before" if event.is_new else "with the old"
        rest = "" if event.is_new else " the new one"
        yield self.finding(
            event,
            f"`{event.optimizer}` was made {made} `{event.attribute}` and will not train{rest or ' it'}",
            "make the optimizer afterwards, or use add_param_group",
        )
