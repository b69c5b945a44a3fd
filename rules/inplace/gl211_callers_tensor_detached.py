"""GL211: a function detaches a tensor of its caller in place."""

from collections.abc import Iterator

from gradcheck_tool import CallersTensorDetached, Rule, Severity, Violation, renamed


class DetachedForCaller(Rule):
    """A function takes the result of `detach_()` of a parameter for a tensor of its own.

    ## What it detects

    `self.cache = x.detach_()`, `return x.detach_()`, `[x.detach_() for x in tensors]` where `x` is a
    parameter, or an element of one. A statement `x.detach_()`, which says that this is its purpose, and
    `x = x.detach_()` are not reported.

    ## Why it is wrong

    `detach_()` returns the caller's tensor itself, which has lost its history: what the caller
    differentiates afterwards passes no gradient on, or raises. `detach()` leaves it as it is.

    ## Example

    ```python
    import torch


    class Cache:
        def __init__(self, value):
            self.value = value.detach_()  # <- GL211


    weight = torch.ones(2, requires_grad=True)
    output = weight * 2
    cache = Cache(output)
    ```

    ## Use instead

    ```python
    import torch


    class Cache:
        def __init__(self, value):
            self.value = value.detach()


    weight = torch.ones(2, requires_grad=True)
    output = weight * 2
    cache = Cache(output)
    ```

    ## Fix safety

    A caller may count on its tensor being detached, so the fix is unsafe.

    ## References

    - [`torch.Tensor.detach_`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html)
    """

    code = "GL211"
    name = "callers-tensor-detached"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the caller's tensor loses its history"
    symptom = "assert not output.requires_grad"

    def on_callers_tensor_detached(self, event: CallersTensorDetached) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`detach_()` cuts the caller's `{event.tensor}` out of its graph, and returns no other tensor",
            "use `detach()`",
            fix=self.unsafe_fix("Use detach", renamed(event.site, "detach")),
        )
