"""GL507: a loss without history is made a leaf so that backward runs."""

from collections.abc import Iterator

from gradcheck_tool import BackwardCall, Rule, Severity, Violation


class LossMadeLeaf(Rule):
    """A loss is set to require a gradient, which makes backward run and reach nothing.

    ## What it detects

    A backward of a computed value that was turned into a leaf by `requires_grad_()`,
    `loss.requires_grad = True`, `torch.tensor(loss, requires_grad=True)` or
    `Variable(loss, requires_grad=True)`.

    ## Why it is wrong

    It silences "element 0 of tensors does not require grad", but the gradient ends in the loss itself. No
    parameter gets one.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 3)
    prediction = model(torch.ones(4, 2)).argmax(dim=1)
    loss = (prediction - 1.0).pow(2).mean()
    loss.requires_grad_()
    loss.backward()  # <- GL507
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 3)
    logits = model(torch.ones(4, 2))
    loss = torch.nn.functional.cross_entropy(logits, torch.ones(4, dtype=torch.long))
    loss.backward()
    ```

    ## Fix safety

    There is no fix: the fault is where the history of the loss was cut, not here.

    ## References

    - [`torch.Tensor.requires_grad_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html)
    """

    code = "GL507"
    name = "loss-made-leaf"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "no parameter gets a gradient"
    symptom = "assert model.weight.grad is None"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        if event.made_leaf:
            yield self.finding(
                event,
                f"`{event.made_leaf}` made `{event.root}` a leaf, so this backward reaches no parameter",
                "find where the history of the loss was cut, and remove the call",
            )
