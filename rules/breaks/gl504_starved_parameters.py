"""GL504: an optimizer's parameters take part in the loss, but every way to them is cut."""

from collections.abc import Iterator

from gradcheck_tool import Draft, OptimizerStep, Rule, Severity, when

_CUT = {
    "detach": "`.detach()`",
    "data": "`.data`",
    "item": "a Python number",
    "numpy": "numpy",
    "no-grad": "no_grad",
    "retensor": "torch.tensor(...)",
    "non-differentiable": "an operation without a gradient",
}


class StarvedParameters(Rule):
    """Parameters are used in a loss and stepped, but no gradient can reach them.

    ## What it detects

    A step of an optimizer some of whose parameters took part in the loss only through something that
    cuts history (`.detach()`, `.data`, `no_grad`, `.item()`, numpy, `argmax`, ...), while other
    parameters get gradients, so that backward does not raise.

    ## Why it is wrong

    These parameters never move. Nothing is raised.

    ## Example

    ```python
    import torch

    encoder, head = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    start = encoder.weight.detach().clone()
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            features = encoder(torch.ones(4, 2))  # <- GL504
        loss = head(features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    encoder, head = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    start = encoder.weight.detach().clone()
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        features = encoder(torch.ones(4, 2))
        loss = head(features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: whether the cut or the optimizer's parameter list is wrong is for the author to
    say.

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL504"
    name = "starved-parameters"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "these parameters never get a gradient"
    symptom = "assert torch.equal(encoder.weight, start)"
    triggers = when.TRAINING

    def on_optimizer_step(self, event: OptimizerStep) -> Iterator[Draft]:
        for cut in event.starved:
            yield self.finding(
                event,
                f"`{event.optimizer}` is to train `{cut.tensor}`, but no gradient can reach it: "
                f"`{cut.call}` cuts the "
                f"graph by {_CUT.get(cut.kind, cut.kind)}",
                "remove the cut, or do not give these parameters to the optimizer",
                site=cut.site,
            )
