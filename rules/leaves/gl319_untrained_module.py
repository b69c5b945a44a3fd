"""GL319: a module gets gradients but no optimizer has its parameters."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, UntrainedModule, Violation


class UntrainedModuleRule(Rule):
    """A module with parameters of its own takes part in a loss but is given to no optimizer.

    ## What it detects

    A newly made module (often a loss with parameters, such as a centre loss or a learned weighting)
    whose parameters get gradients in a training loop, while the optimizer that steps there has others
    only. Also a single parameter of a module whose sub-modules are all trained.

    ## Why it is wrong

    Its parameters stay as they were initialised, and their gradients add up. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 4)
    scorer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <- GL319
    start = scorer.weight.detach().clone()
    for _ in range(3):
        loss = scorer(model(torch.ones(8, 2)).tanh()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 4)
    scorer = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *scorer.parameters()], lr=0.1)
    start = scorer.weight.detach().clone()
    for _ in range(3):
        loss = scorer(model(torch.ones(8, 2)).tanh()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: whether the module is to be trained or frozen is for the author to say.

    ## References

    - [`torch.optim`: constructing it](https://docs.pytorch.org/docs/stable/optim.html#constructing-it)
    """

    code = "GL319"
    name = "untrained-module"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "its parameters do not move"
    symptom = "assert torch.equal(scorer.weight, start)"

    def on_untrained_module(self, event: UntrainedModule) -> Iterator[Violation]:
        if event.is_parameter:
            told = f"`{event.module}`, which gets gradients and never moves"
            advice = f"give it `{event.module}` too, or freeze it"
        else:
            told = f"the parameters of `{event.module}`, which get gradients and never move"
            advice = f"give it `{event.module}.parameters()` too, or freeze them"
        yield self.finding(event, f"`{event.optimizer}` does not have {told}", advice)
