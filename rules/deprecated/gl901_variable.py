"""GL901: `Variable` is a plain tensor."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Replacement, Rule, Severity, Trigger, Violation, only_argument


class VariableWrapper(Rule):
    """`torch.autograd.Variable` has been a plain tensor since PyTorch 0.4.

    ## What it detects

    Calls of `torch.autograd.Variable`.

    ## Why it is wrong

    `Variable(t)` returns a tensor that shares memory with `t` and has no history. It is superfluous,
    and where `t` had a history it silently cuts it.

    ## Example

    ```python
    import torch
    from torch.autograd import Variable

    weight = torch.ones(2, requires_grad=True)
    x = Variable(torch.ones(2))  # <- GL901
    (weight * x).sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    x = torch.ones(2)
    (weight * x).sum().backward()
    ```

    ## Fix safety

    A tensor that has a history keeps it without the wrapper, so the fix is unsafe. It is offered where
    the tensor is the only argument.

    ## References

    - [Variable (deprecated)](https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated)
    """

    code = "GL901"
    name = "variable"
    severity = Severity.INFO
    effect = "silent"
    predicts = "the wrapper does nothing but return a tensor"
    symptom = "assert type(Variable(torch.ones(2))) is torch.Tensor"
    names = ("torch.autograd.Variable", "torch.autograd.variable.Variable", "torch.Variable")
    triggers = (Trigger("Variable", r"\bVariable\b", mentions=("Variable",)),)

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        if event.called:
            tensor = only_argument(event.site)
            unwrapped = Replacement(event.site, tensor) if tensor else None
            yield self.finding(
                event,
                "Variable has been a plain tensor since PyTorch 0.4",
                "use the tensor itself, with requires_grad_() where it is to be trained",
                fix=self.unsafe_fix("Remove the wrapper", unwrapped),
            )
