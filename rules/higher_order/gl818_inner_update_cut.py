"""GL818: a differentiable inner update starts from a detached value."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Rule,
    RunNote,
    Severity,
    State,
    Tensor,
    Tracker,
    Violation,
    facts,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class InnerUpdateCut(Event):
    """A value is updated by its own differentiable gradient (create_graph), but from its detached self.

    The result is back-propagated: the way through the gradient counts, the direct way is cut. `start` is
    the text of the detached value.
    """

    triggers = when.DIFFERENTIATION

    parameter: str
    start: str
    call: str


class InnerUpdates(Tracker):
    """Follows inner updates that are differentiable, but start from the detached value itself."""

    derives = (InnerUpdateCut,)
    # Such updates that no backward has reached, by graph node.
    updates = RunNote[int, InnerUpdateCut]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """`w.data - lr * g`, where `g` is the gradient of `w` and has a graph of its own."""
        if fact.operation != "-":
            return
        start, step = (s.get(fact.arguments.get(name), Tensor) for name in ("self", "other"))
        made = s.get(fact.result, Tensor)
        if start is None or step is None or made is None or made.grad_fn is None or not step.requires_grad:
            return
        if start.view in ("data", "detached") and start.base is not None and start.base in step.grads_of:
            self.updates[made.grad_fn.id] = InnerUpdateCut(
                site=fact.site,
                parameter=str(s[start.base].name),
                start=str(start.name),
                call=str(fact.text),
            )

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Is such an update back-propagated?"""
        for ref in fact.run.ran if self.updates else ():
            event = self.updates.pop(ref.id, None)
            if event is not None and self.once(id(event.site.node)):
                self.report(event)


class InnerUpdateIsCut(Rule):
    """A value is updated by its own differentiable gradient, but starting from a detached copy.

    ## What it detects

    `w.data - lr * g` or `w.detach() - lr * g`, where `g` is the gradient of `w` made with
    `create_graph=True`, in a root that is back-propagated afterwards.

    ## Why it is wrong

    The outer gradient flows through `g` only. The direct path, which is the identity and gives the
    larger part of it, is cut: the meta-gradient is wrong. Nothing is raised.

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
    trackers = (InnerUpdates,)

    def on_inner_update_cut(self, event: InnerUpdateCut) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.call}` starts from `{event.start}`, so outer gradients reach `{event.parameter}` "
            "through its gradient only",
            f"start from `{event.parameter}` itself, or leave out create_graph=True",
        )
