"""GL322: an optimizer is given no parameters."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class OptimizerParameters(Rule):
    """An optimizer is made with an empty list, or with one tensor in place of a list.

    ## What it detects

    An optimizer whose first argument certainly holds no parameter (a module without parameters, an iterator
    that is used up, a filter that lets none through), is one tensor or a list of numbers, or is left out.

    ## Why it is wrong

    PyTorch raises.

    ## Example

    ```python
    import torch

    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    optimizer = torch.optim.SGD(network[1].parameters(), lr=0.1)  # <- GL322
    ```

    ```python
    import torch

    weight = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD(weight, lr=0.1)  # <- GL322
    ```

    ```python
    import torch

    optimizer = torch.optim.SGD(lr=0.1)  # <- GL322
    ```

    ```python
    import torch

    optimizer = torch.optim.SGD([0.1, 0.9])  # <- GL322
    ```

    ## Use instead

    ```python
    import torch

    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    ```

    ```python
    import torch

    weight = torch.zeros(3, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    ```

    ## References

    - [`torch.optim`](https://docs.pytorch.org/docs/stable/optim.html#constructing-it)
    """

    code = "GL322"
    name = "optimizer-parameters"
    severity = Severity.ERROR
    predicts = (
        "optimizer got an empty parameter list | "
        "params argument given to the optimizer should be an iterable of Tensors or dicts | "
        "missing 1 required positional argument: 'params' | "
        "optimizer can only optimize Tensors, but one of the params is ..."
    )
    triggers = (when.OPTIMIZER,)

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "optimizer-parameters":
            yield self.finding(
                event,
                f"`{event.call}` gets nothing that it can optimize: {event.text}",
                "pass the parameters that it is meant to update",
            )
