"""GL103: backward of a tensor of several numbers, without saying how to weight them."""

from collections.abc import Iterator

from gradcheck_tool import NonScalarRoot, Rule, Severity, Violation, receiver_replaced


class NonScalarBackward(Rule):
    """A gradient is requested of something that is not a single number.

    ## What it detects

    `backward()` or `torch.autograd.grad` of a tensor that is known to hold more than one number (a
    loss made with `reduction="none"`, an element-wise result, a model's output), without a
    `gradient` (`grad_outputs`) argument; and of a complex number. A loss that is reduced in one
    branch and not in the other (`if reduction == "mean": ...`) is not reported unless the code
    shows which branch is taken.

    ## Why it is wrong

    The engine multiplies a vector by the Jacobian. For a single number the vector is 1; for
    anything else it must be given, and PyTorch raises. A complex number has no gradient of its own:
    use its real part, its imaginary part or its absolute value.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    losses = (weight - torch.ones(3)) ** 2
    losses.backward()  # <- GL103
    ```

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    (gradient,) = torch.autograd.grad(y, x)  # <- GL103
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    losses = (weight - torch.ones(3)) ** 2
    losses.mean().backward()
    ```

    ```python
    import torch

    x = torch.randn(3, requires_grad=True)
    y = x.exp()
    (gradient,) = torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y))
    ```

    ## Fix safety

    The fix takes the mean, which may not be the reduction that you want, so it is unsafe.

    ## References

    - [`torch.Tensor.backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL103"
    name = "non-scalar-backward"
    severity = Severity.ERROR
    predicts = "grad can be implicitly created only for scalar outputs"

    def on_non_scalar_root(self, event: NonScalarRoot) -> Iterator[Violation]:
        if event.is_complex:
            yield self.finding(
                event,
                f"`{event.root}` is complex, but only a real number can be differentiated",
                "differentiate its `.real`, its `.abs()` or another real number",
            )
            return
        argument = "gradient" if event.call == "backward" else "grad_outputs"
        mean = receiver_replaced(event.site, "{}.mean()") if event.call == "backward" else None
        yield self.finding(
            event,
            f"`{event.root}` holds more than one number, so `{event.call}` needs to know how to weight them",
            f"reduce it to a scalar (`.mean()` or `.sum()`), or pass `{argument}=`",
            fix=self.unsafe_fix("Take the mean", mean),
        )
