"""GL511: `torch.no_grad()` as a statement."""

from collections.abc import Iterator

from gradcheck_tool import GradModeMisuse, Rule, Severity, Violation, when


class BareNoGrad(Rule):
    """A grad mode is made but not entered.

    ## What it detects

    `torch.no_grad()`, `torch.inference_mode()`, `torch.enable_grad()`, `torch.autocast(...)` or the
    `no_sync()` of DistributedDataParallel as a statement of its own, without `with`; where a truth value is
    asked for, as in `with torch.no_grad() and other():`; and after `yield` in a `@contextmanager`.

    ## Why it is wrong

    The object is discarded before it does anything: gradients are recorded as before, with autocast numbers
    keep their type, and without `no_sync` gradients are reduced. `a() and b()` is `b()` alone. Nothing is
    raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    torch.no_grad()  # <- GL511
    output = model(torch.ones(4, 2))
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    with torch.no_grad():
        output = model(torch.ones(4, 2))
    ```

    ## Fix safety

    There is no fix: which of the following statements were meant is for the author to decide.

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL511"
    name = "bare-no-grad"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "nothing is switched"
    symptom = "assert output.requires_grad"
    triggers = (when.MISUSED_GRAD_MODE, when.MANAGER_NOT_ENTERED)

    def on_grad_mode_misuse(self, event: GradModeMisuse) -> Iterator[Violation]:
        if event.kind in _HOW:
            yield self.finding(event, f"`{event.call}` {_HOW[event.kind][0]}", _HOW[event.kind][1])


_HOW = {
    "bare": ("has no effect as a statement", "use it in a `with` statement"),
    "tested": (
        "is always true, so that `and` or `or` leaves one of the two only to be entered",
        "enter both: `with a(), b():`",
    ),
    "yielded": ("is yielded and never entered", "enter it: `with ...:` around a `yield`"),
}
