"""GL302: reading `.grad` of a tensor that is not a leaf."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    NONE,
    Event,
    Interpreter,
    Rule,
    Severity,
    State,
    StoryStep,
    Tensor,
    Tracker,
    Violation,
    facts,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class GradOfResultRead(Event):
    """`.grad` is read of a tensor that is no leaf and does not keep its gradient: it is None."""

    triggers = (when.GRAD_ATTRIBUTE,)

    tensor: str


class GradReads(Tracker):
    """Looks at the tensors whose `.grad` is read."""

    derives = (GradOfResultRead,)

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Is it the result of an operation?"""
        for ref in fact.records if fact.by == "grad" else ():
            tensor: Tensor = s[ref]
            is_unknown = tensor.is_summary or tensor.grad_state == "unknown" or tensor.grad != NONE
            # An argument that is only assumed to have a graph is a leaf, if its gradient is asked for.
            is_computed = tensor.leaf is False and tensor.grad_fn is not None
            is_result = is_computed and tensor.requires_grad and not tensor.retains_grad
            if is_result and not is_unknown:
                story = (
                    StoryStep(tensor.site, f"`{tensor.name}` is computed here, so it is not a leaf", "made"),
                )
                name = places.receiver_text(fact.site, str(tensor.name))
                self.report(GradOfResultRead(site=fact.site, story=story, tensor=name))


class GradOfNonLeaf(Rule):
    """The `.grad` of a computed tensor is read, but only leaves keep a gradient.

    ## What it detects

    Reading `.grad` of a tensor that is the result of an operation and on which `retain_grad()` was not
    called. It includes parameters that were replaced by a result, as in
    `w = w - lr * w.grad` or `w = torch.randn(3, requires_grad=True).to(device)`.

    ## Why it is wrong

    `backward` stores gradients in leaves only; for everything else `.grad` stays None, with a warning
    at best.

    ## Example

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.sum().backward()
    print(squared.grad)  # <- GL302
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.randn(3, requires_grad=True)
    squared = weight**2
    squared.retain_grad()
    squared.sum().backward()
    print(squared.grad)
    ```

    ## Fix safety

    There is no fix: where a tensor became a result, or that its gradient is to be retained, is for the
    author to decide.

    ## References

    - [`torch.Tensor.retain_grad`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html)
    - [`torch.Tensor.is_leaf`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html)
    """

    code = "GL302"
    name = "grad-of-non-leaf"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"

    trackers = (GradReads,)

    def on_grad_of_result_read(self, event: GradOfResultRead) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.tensor}.grad` is None: `{event.tensor}` is the result of an operation, and backward "
            "stores gradients in leaves only",
            f"call `{event.tensor}.retain_grad()` before backward, or keep `{event.tensor}` a leaf",
        )
