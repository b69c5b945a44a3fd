"""GL403: gradients are clipped where there is nothing to clip, or after they were applied."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradcheck_tool import (
    BackwardCall,
    ClipGradients,
    Event,
    NameUse,
    Rule,
    Severity,
    Violation,
    by_site,
    callee_text,
    when,
)

# What clip_grad_value_ raises without gradients.
_REFUSED = "Expected !nested_tensorlist[0].empty() to be true, but got false."


class ClipWithoutEffect(Rule):
    """Clipping comes before backward, after the step, or for parameters that have no gradient.

    ## What it detects

    `clip_grad_norm_` or `clip_grad_value_` at a place where, every time, the gradients do not exist
    yet, were cleared, or have already been applied by a step. Parameters whose gradients come from
    `torch.autograd.grad` have no `.grad`, so clipping them does nothing. Calls that only measure the
    norm are not reported, nor those in code that differentiates nothing: its callers may have done so.

    ## Why it is wrong

    The gradients that the optimizer applies are never clipped. `clip_grad_norm_` says nothing;
    `clip_grad_value_` raises where no parameter has a gradient.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(1):
        optimizer.zero_grad()
        loss = (100 * model(torch.ones(4, 2))).sum()
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- GL403
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    parameters = list(model.parameters())
    for _ in range(1):
        loss = (100 * model(torch.ones(4, 2))).sum()
        gradients = torch.autograd.grad(loss, parameters)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # <- GL403
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(1):
        optimizer.zero_grad()
        loss = (100 * model(torch.ones(4, 2))).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    parameters = list(model.parameters())
    for _ in range(1):
        loss = (100 * model(torch.ones(4, 2))).sum()
        gradients = torch.autograd.grad(loss, parameters)
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: the place between backward and step may be in another function.

    ## References

    - [`torch.nn.utils.clip_grad_norm_`](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
    """

    code = "GL403"
    name = "clip-without-effect"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradients that are applied are not clipped"
    symptom = "assert (model.weight - start).norm() > 1.1"
    triggers = (*when.TRAINING, when.CLIP_GRAD)

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        differentiating = {event.unit for event in events if _differentiates(event)}
        for visits in by_site(events, ClipGradients).values():
            seen = frozenset().union(*(clip.gradients for clip in visits))
            if seen == {"none"} and differentiating.isdisjoint(clip.unit for clip in visits):
                # Where nothing is differentiated, callers have done so, or nothing is trained at all.
                continue
            if seen and seen <= {"none", "zeroed", "stale"} and not any(clip.measures for clip in visits):
                target = visits[0].target
                if all(clip.is_result for clip in visits):
                    message = f"clipping `{target}` has no effect: it is a result, not parameters"
                    yield self.finding(visits[0], message, "pass `model.parameters()`, after the backward")
                    continue
                message = f"clipping `{target}` has no effect here: {_why(seen)}"
                told = self.finding(visits[0], message, "clip between backward and step")
                is_refused = seen == {"none"} and callee_text(visits[0].site).endswith("clip_grad_value_")
                yield replace(told, predicts=_REFUSED) if is_refused else told


def _differentiates(event: Event) -> bool:
    return isinstance(event, BackwardCall) or (
        isinstance(event, NameUse) and event.name == "torch.autograd.grad"
    )


def _why(kinds: frozenset[str]) -> str:
    if "stale" in kinds:
        return "the step has applied these gradients already"
    if kinds == {"none"}:
        return "no backward has stored a gradient in these parameters"
    return "the gradients were cleared and no backward has followed"
