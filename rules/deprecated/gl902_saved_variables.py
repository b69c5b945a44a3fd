"""GL902: `ctx.saved_variables`."""

from collections.abc import Iterator

from gradcheck_tool import MethodUse, Replacement, Rule, Severity, Trigger, Violation


class SavedVariables(Rule):
    """`ctx.saved_variables` is the old name of `ctx.saved_tensors`.

    ## What it detects

    Reading `saved_variables` of the context of a `torch.autograd.Function`.

    ## Why it is wrong

    PyTorch warns, and will remove the name.

    ## Example

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_variables  # <- GL902
            return grad * y


    x = torch.ones(2, requires_grad=True)
    Exp.apply(x).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            (y,) = ctx.saved_tensors
            return grad * y


    x = torch.ones(2, requires_grad=True)
    Exp.apply(x).sum().backward()
    ```

    ## Fix safety

    The two names mean the same, so the fix is safe.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL902"
    name = "saved-variables"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "'saved_variables' is deprecated; use 'saved_tensors'"
    triggers = (Trigger("saved_variables"),)

    def on_method_use(self, event: MethodUse) -> Iterator[Violation]:
        if event.receiver == "context" and event.name == "saved_variables":
            new = f"{event.subject}.saved_tensors"
            fix = self.safe_fix(f"Use `{new}`", Replacement(event.site, new))
            yield self.finding(
                event, f"`{event.subject}.saved_variables` is deprecated", f"use `{new}`", fix=fix
            )
