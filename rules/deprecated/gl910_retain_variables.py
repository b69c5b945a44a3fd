"""GL910: `retain_variables`."""

from collections.abc import Iterator

from gradcheck_tool import MethodUse, Rule, Severity, Trigger, Violation, keyword_renamed


class RetainVariables(Rule):
    """`retain_variables` is the old name of `retain_graph`.

    ## What it detects

    `backward(retain_variables=...)`.

    ## Why it is wrong

    The argument no longer exists; Python raises.

    ## Example

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    loss = (x**2).sum()
    loss.backward(retain_variables=True)  # <- GL910
    ```

    ## Use instead

    ```python
    import torch

    x = torch.ones(2, requires_grad=True)
    loss = (x**2).sum()
    loss.backward(retain_graph=True)
    ```

    ## Fix safety

    The call raises as it stands, so the fix is safe.

    ## References

    - [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    """

    code = "GL910"
    name = "retain-variables"
    severity = Severity.ERROR
    predicts = "unexpected keyword argument 'retain_variables'"
    triggers = (Trigger("retain_variables"),)

    def on_method_use(self, event: MethodUse) -> Iterator[Violation]:
        if event.name == "backward" and "retain_variables" in event.keywords and _is_of_tensor(event):
            fix = self.safe_fix(
                "Use `retain_graph`", keyword_renamed(event.site, "retain_variables", "retain_graph")
            )
            yield self.finding(
                event, "`retain_variables` no longer exists", "it is called `retain_graph`", fix=fix
            )


def _is_of_tensor(event: MethodUse) -> bool:
    """Is it the method of a tensor? One that is given the loss belongs to something else."""
    args = getattr(event.site.node, "args", ())
    is_given = any(arg.keyword is None for arg in args)
    return event.receiver == "tensor" or (event.receiver == "unknown" and not is_given)
