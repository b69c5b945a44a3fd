"""GL719: saved tensors that are freed when they are read are read twice."""

from collections.abc import Iterator

from gradcheck_tool import FunctionError, Rule, Severity, Violation


class SavedReadTwice(Rule):
    """A backward reads its saved tensors twice although the first read frees them.

    ## What it detects

    Two reads of `ctx.saved_tensors` in the `backward` of a Function with `clear_saved_tensors_on_access
    = True`.

    ## Why it is wrong

    With that setting the first read hands the tensors over and frees them. PyTorch raises at the
    second.

    ## Example

    ```python
    import torch


    class Product(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            y = ctx.saved_tensors[1]
            return grad * y, grad * ctx.saved_tensors[0]  # <- GL719


    x = torch.ones(2, requires_grad=True)
    Product.apply(x, torch.ones(2)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch


    class Product(torch.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x


    x = torch.ones(2, requires_grad=True)
    Product.apply(x, torch.ones(2)).sum().backward()
    ```

    ## References

    - [`torch.autograd.Function`](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
    """

    code = "GL719"
    name = "saved-read-twice"
    severity = Severity.ERROR
    predicts = "can only be accessed once"

    def on_function_error(self, event: FunctionError) -> Iterator[Violation]:
        if event.kind == "cleared-saved":
            yield self.finding(
                event,
                f"`{event.function}.backward` reads ctx.saved_tensors again, but the first read has freed "
                "them",
                "unpack them once",
            )
