"""GL912: `reinforce()`."""

from collections.abc import Iterator

from gradcheck_tool import MethodUse, Rule, Severity, Trigger, Violation


class Reinforce(Rule):
    """`reinforce()` of stochastic tensors was removed.

    ## What it detects

    `action.reinforce(reward)` on a tensor.

    ## Why it is wrong

    PyTorch raises; score-function gradients are written with `torch.distributions` now.

    ## Example

    ```python
    import torch

    probabilities = torch.tensor([0.5, 0.5])
    action = probabilities.multinomial(1)
    action.reinforce(1.0)  # <- GL912
    ```

    ## Use instead

    ```python
    import torch

    probabilities = torch.tensor([0.5, 0.5], requires_grad=True)
    policy = torch.distributions.Categorical(probabilities)
    action = policy.sample()
    (-policy.log_prob(action) * 1.0).backward()
    ```

    ## Fix safety

    There is no fix: the estimator has to be written differently.

    ## References

    - [Score function](https://docs.pytorch.org/docs/stable/distributions.html#score-function)
    """

    code = "GL912"
    name = "reinforce"
    severity = Severity.ERROR
    predicts = "reinforce() was removed"
    triggers = (Trigger("reinforce", r"\breinforce\b"),)

    def on_method_use(self, event: MethodUse) -> Iterator[Violation]:
        if event.receiver == "tensor" and event.name == "reinforce":
            yield self.finding(
                event,
                f"`{event.subject}.reinforce` was removed",
                "use the log_prob of a torch.distributions object",
            )
