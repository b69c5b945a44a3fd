"""GL411: gradients are clipped while a GradScaler's scale is still on them."""

from collections.abc import Iterator

from gradcheck_tool import ClipGradients, Rule, Severity, Violation, when


class ClipScaledGradients(Rule):
    """Gradients are clipped before they are unscaled.

    ## What it detects

    `clip_grad_norm_` or `clip_grad_value_` between `scaler.scale(loss).backward()` and
    `scaler.step(optimizer)`, without `scaler.unscale_(optimizer)` in between.

    ## Why it is wrong

    The gradients are still multiplied by the scale (65536 to begin with), so they are clipped to a
    norm that is that many times too small. Nothing is raised; the model hardly learns.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((0.3 * weight).sum()).backward()
    torch.nn.utils.clip_grad_norm_([weight], 1.0)  # <- GL411
    scaler.step(optimizer)
    scaler.update()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((0.3 * weight).sum()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    scaler.update()
    ```

    ## Fix safety

    There is no fix: the call needs the names of the scaler and of the optimizer.

    ## References

    - [Working with unscaled gradients](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients)
    """

    code = "GL411"
    name = "clip-scaled-gradients"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the step is too small by the factor of the scale"
    symptom = "assert (weight - 1).norm() < 0.01  # a step of about 0.42 was asked for"
    triggers = (*when.TRAINING, when.CLIP_GRAD, when.SCALER, when.UNSCALE)

    def on_clip_gradients(self, event: ClipGradients) -> Iterator[Violation]:
        if event.gradients == {"scaled"} and not event.measures:
            yield self.finding(
                event,
                f"the gradients of `{event.target}` still carry the GradScaler's scale when they are clipped",
                "call `scaler.unscale_(optimizer)` first",
            )
