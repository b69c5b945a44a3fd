"""GL803: a gradient penalty is a constant."""

from collections.abc import Iterator

from gradcheck_tool import BackwardCall, Rule, Severity, Violation, with_keyword


class ConstantPenalty(Rule):
    """A gradient that was made without `create_graph=True` is part of a loss.

    ## What it detects

    A backward of a loss to which a gradient contributes (a penalty, a Jacobian term) that was computed
    without `create_graph=True`, while other terms have a graph.

    ## Why it is wrong

    The penalty changes the value of the loss and nothing else: its gradient is dropped. Nothing is
    raised.

    ## Example

    ```python
    import torch

    critic = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x = torch.randn(8, 2, requires_grad=True)
    scores = critic(x)
    (slope,) = torch.autograd.grad(scores.sum(), x, retain_graph=True)  # <- GL803
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = scores.mean() + 10 * penalty
    loss.backward()
    tracked = penalty.requires_grad
    ```

    ## Use instead

    ```python
    import torch

    critic = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x = torch.randn(8, 2, requires_grad=True)
    scores = critic(x)
    (slope,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = scores.mean() + 10 * penalty
    loss.backward()
    tracked = penalty.requires_grad
    ```

    ## Fix safety

    Gradients flow where none did, and the graph costs memory, so the fix is unsafe.

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL803"
    name = "constant-penalty"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the penalty has no gradient"
    symptom = "assert not tracked"

    def on_backward_call(self, event: BackwardCall) -> Iterator[Violation]:
        for cut in event.breaks:
            if cut.kind == "create-graph":
                yield self.finding(
                    event,
                    f"`{cut.call}` makes a gradient without a graph, so the term of `{event.root}` that "
                    "depends on it is "
                    "a constant",
                    "pass create_graph=True",
                    site=cut.site,
                    fix=self.unsafe_fix(
                        "Add create_graph=True", with_keyword(cut.site, "create_graph", "True")
                    ),
                )
