"""GL317: an iterator of parameters is used twice."""

from collections.abc import Iterator

from gradcheck_tool import ExhaustedParameters, Rule, Severity, Violation


class ParametersUsedUp(Rule):
    """An iterator of parameters is used again after something has used it up.

    ## What it detects

    `model.parameters()` kept in a variable and given to two consumers, such as an optimizer and
    `clip_grad_norm_`.

    ## Why it is wrong

    `parameters()` returns a generator, which can be gone through once. The second consumer sees nothing:
    no gradient is clipped, no parameter is frozen or counted.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    parameters = model.parameters()
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    (100 * model(torch.ones(4, 2))).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # <- GL317
    optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    parameters = list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    (100 * model(torch.ones(4, 2))).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
    ```

    ## References

    - [`torch.nn.Module.parameters`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters)
    """

    code = "GL317"
    name = "parameters-used-up"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the second use sees no parameters"
    symptom = "assert norm == 0"

    def on_exhausted_parameters(self, event: ExhaustedParameters) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.iterator}` is a generator that has been used up, so `{event.call}` sees no parameters",
            "keep `list(model.parameters())` instead",
        )
