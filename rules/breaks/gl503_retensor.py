"""GL503: tensors with history are copied into a new tensor that goes into a loss."""

from collections.abc import Iterator

from gradcheck_tool import BackwardCall, Rule, Severity, Violation, renamed


class RetensorInLoss(Rule):
    """A part of a loss is rebuilt with `torch.tensor(...)` and loses its gradient.

    ## What it detects

    A backward through a loss in which a term that requires a gradient takes part only as a copy:
    `torch.tensor([a, b])`, `torch.tensor(t)`, `torch.as_tensor([a, b])`, `torch.FloatTensor([a, b])`.

    ## Why it is wrong

    These functions copy numbers, not history. The rest of the loss trains, the copied term is a
    constant. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    balance = torch.ones(2, requires_grad=True)
    task = model(torch.ones(4, 2)).pow(2).mean()
    terms = torch.tensor([balance[0] ** 2, balance[1] ** 2])  # <- GL503
    loss = task + terms.sum()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    balance = torch.ones(2, requires_grad=True)
    task = model(torch.ones(4, 2)).pow(2).mean()
    terms = torch.stack([balance[0] ** 2, balance[1] ** 2])
    loss = task + terms.sum()
    loss.backward()
    ```

    ## Fix safety

    Gradients flow where none did, so the fix is unsafe. It is offered for a list of tensors.

    ## References

    - [`torch.stack`](https://docs.pytorch.org/docs/stable/generated/torch.stack.html)
    - [`torch.tensor`](https://docs.pytorch.org/docs/stable/generated/torch.tensor.html)
    """

    code = "GL503"
    name = "retensor-in-loss"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "this part of the loss is a constant"
    symptom = "assert balance.grad is None"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        for cut in event.breaks:
            if cut.kind == "retensor":
                stack = (
                    renamed(cut.site, "stack")
                    if cut.call.startswith(("torch.tensor([", "torch.as_tensor(["))
                    else None
                )
                yield self.finding(
                    event,
                    f"`{cut.call}` copies the values of `{cut.tensor}` without their history, so this "
                    "part of "
                    f"`{event.root}` gets no gradient",
                    "use torch.stack or torch.cat",
                    site=cut.site,
                    fix=self.unsafe_fix("Stack the tensors", stack),
                )
