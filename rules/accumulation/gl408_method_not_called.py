"""GL408: a step of the training protocol is named but not called."""

from collections.abc import Iterator

from gradcheck_tool import Replacement, Rule, Severity, Trigger, UncalledMethod, Violation, when

_PROTOCOL = {
    "optimizer": ("zero_grad", "step"),
    "module": ("zero_grad", "train", "eval"),
    "tensor": ("backward", "detach_", "retain_grad", "requires_grad_"),
    "scaler": ("update",),
    "scheduler": ("step",),
}


class MethodNotCalled(Rule):
    """A statement names a method and does not call it.

    ## What it detects

    `optimizer.zero_grad`, `optimizer.step`, `loss.backward`, `model.eval` and the like as a statement
    without parentheses.

    ## Why it is wrong

    Naming a method does nothing. Nothing is raised: gradients are never cleared, or weights never move.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(2):
        optimizer.zero_grad  # <- GL408
        model(torch.ones(4, 2)).sum().backward()
        norms.append(model.weight.grad.norm().item())
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    norms = []
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        norms.append(model.weight.grad.norm().item())
    ```

    ## Fix safety

    Adding the parentheses changes what the program does, so the fix is unsafe.

    ## References

    - [`torch.optim.Optimizer.zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
    """

    code = "GL408"
    name = "method-not-called"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the statement does nothing"
    symptom = "assert norms[1] > 1.9 * norms[0]"
    triggers = (*when.TRAINING, Trigger("zero_grad", r"(?<=\.)zero_grad\b(?![(.])"))

    def on_uncalled_method(self, event: UncalledMethod) -> Iterator[Violation]:
        if event.name not in _PROTOCOL.get(event.receiver, ()):
            return
        text = f"{event.subject}.{event.name}"
        fix = self.unsafe_fix(f"Call `{text}`", Replacement(event.site, f"{text}()"))
        yield self.finding(
            event, f"`{text}` is named but not called, so nothing happens", "add `()`", fix=fix
        )
