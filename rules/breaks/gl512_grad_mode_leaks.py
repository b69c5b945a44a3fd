"""GL512: gradients are switched off and never on again."""

from collections.abc import Iterator

from gradcheck_tool import GradModeMisuse, Rule, Severity, Violation, when


class GradModeLeaks(Rule):
    """Recording of gradients is switched off for the rest of the program.

    ## What it detects

    `torch.set_grad_enabled(False)` as a statement that nothing undoes before a forward pass that is to
    be trained.

    ## Why it is wrong

    The switch is global to the thread and outlives the function that makes it: everything that runs
    afterwards is computed without gradients. A later backward raises, or silently trains less than it
    should.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)


    def evaluate():
        torch.set_grad_enabled(False)  # <- GL512
        return model(torch.ones(4, 2)).mean().item()


    evaluate()
    loss = model(torch.ones(4, 2)).mean()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)


    def evaluate():
        with torch.set_grad_enabled(False):
            return model(torch.ones(4, 2)).mean().item()


    evaluate()
    loss = model(torch.ones(4, 2)).mean()
    ```

    ## Fix safety

    There is no fix: which of the following statements were meant is for the author to decide.

    ## References

    - [`torch.set_grad_enabled`](https://docs.pytorch.org/docs/stable/generated/torch.set_grad_enabled.html)
    """

    code = "GL512"
    name = "grad-mode-leaks"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "what follows is computed without gradients"
    symptom = "assert not loss.requires_grad"
    triggers = (when.MISUSED_GRAD_MODE,)

    def on_grad_mode_misuse(self, event: GradModeMisuse) -> Iterator[Violation]:
        if event.kind == "never-restored":
            yield self.finding(
                event,
                f"`{event.call}` switches gradients off for everything that follows, training included",
                f"use `with {event.call}:`",
            )
