"""GL717: a method of a custom Function is not static."""

from collections.abc import Iterator

from gradcheck_tool import FunctionDefect, Rule, Severity, Violation


class NotStatic(Rule):
    """`forward` or `backward` of a custom Function lacks `@staticmethod`.

    ## What it detects

    `forward`, `backward`, `setup_context`, `jvp` or `vmap` in a `torch.autograd.Function` without
    `@staticmethod`, where another of them has it or the first parameter is not called `self`. Otherwise the
    class is of the old style, which GL705 reports where an object of it is called.

    ## Why it is wrong

    `apply` still works, but the method has no `self`: its first parameter is `ctx`. Making an object
    of the class warns that this will be an error, and calling one raises (GL705).

    ## Example

    ```python
    import torch


    class Scale(torch.autograd.Function):
        def forward(ctx, x):  # <- GL717
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    static = isinstance(Scale.__dict__["forward"], staticmethod)
    ```

    ## Use instead

    ```python
    import torch


    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2


    static = isinstance(Scale.__dict__["forward"], staticmethod)
    ```

    ## Fix safety

    There is no fix: a method that uses its first parameter as an instance has to change with the decorator.

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL717"
    name = "not-static"
    severity = Severity.WARNING
    effect = "silent"
    default = False
    predicts = "PyTorch calls it without an object: the first parameter is ctx, not self"
    symptom = "assert not static"

    def on_function_defect(self, event: FunctionDefect) -> Iterator[Violation]:
        if event.kind == "not-static":
            yield self.finding(
                event,
                f"`{event.function}.{event.detail}` is not a static method",
                "add @staticmethod",
            )
