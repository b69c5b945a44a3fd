"""GL818: a differentiable inner update starts from a detached value."""

from collections.abc import Iterator

from gradcheck_tool import Draft, InnerUpdateCut, Rule, Severity


class InnerUpdateIsCut(Rule):
    """A value is updated by its own differentiable gradient, but from its detached self.

    ## What it detects

    `w.data - lr * g` or `w.detach() - lr * g`, where `g` is the gradient of `w` made with
    `create_graph=True`, in a root that is back-propagated afterwards.

    ## Why it is wrong

    The outer gradient flows through `g` only. The direct way, which is the identity and the larger
    part of it, is cut: the meta-gradient is wrong. Nothing is raised.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    support, query = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0])
    inner = (weight * support).pow(2).sum()
    (gradient,) = torch.autograd.grad(inner, weight, create_graph=True)
    adapted = weight.data - 0.1 * gradient  # <- GL818
    outer = (adapted * query).sum()
    outer.backward()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    support, query = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0])
    inner = (weight * support).pow(2).sum()
    (gradient,) = torch.autograd.grad(inner, weight, create_graph=True)
    adapted = weight - 0.1 * gradient
    outer = (adapted * query).sum()
    outer.backward()
    ```

    ## Fix safety

    There is no fix: for a first-order method, drop `create_graph=True` instead.

    ## References

    - [`torch.autograd.grad`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html)
    """

    code = "GL818"
    name = "inner-update-cut"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the outer gradient lacks its direct part"
    symptom = "assert torch.allclose(weight.grad, -0.2 * support**2 * query)  # the query is to be added"

    def on_inner_update_cut(self, event: InnerUpdateCut) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.call}` starts from `{event.start}`, so outer gradients reach `{event.parameter}` "
            "through its gradient only",
            f"start from `{event.parameter}` itself, or do without create_graph=True",
        )
