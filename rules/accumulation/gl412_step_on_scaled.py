"""GL412: an optimizer steps on gradients that a GradScaler has scaled."""

from collections.abc import Iterator

from gradcheck_tool import OptimizerStep, Rule, Severity, Violation, when


class StepOnScaledGradients(Rule):
    """A scaled loss was back-propagated, but the optimizer steps without the GradScaler.

    ## What it detects

    `optimizer.step()` after `scaler.scale(loss).backward()`, where neither `scaler.step(optimizer)` nor
    `scaler.unscale_(optimizer)` is used.

    ## Why it is wrong

    The gradients are multiplied by the scale (65536 to begin with), and so is the step; steps with
    infinite gradients are not skipped either. Nothing is raised.

    ## Example

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((0.3 * weight).sum()).backward()
    optimizer.step()  # <- GL412
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((0.3 * weight).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    ```

    ## Fix safety

    There is no fix: the call needs the name of the scaler.

    ## References

    - [Typical mixed precision training](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
    """

    code = "GL412"
    name = "step-on-scaled-gradients"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the step is too large by the factor of the scale"
    symptom = "assert (weight - 1).norm() > 100"
    triggers = (*when.TRAINING, when.CLIP_GRAD, when.SCALER, when.UNSCALE)

    def on_optimizer_step(self, event: OptimizerStep) -> Iterator[Violation]:
        if event.gradients == {"scaled"} and not event.scaler:
            yield self.finding(
                event,
                f"`{event.optimizer}` steps on gradients that still carry the GradScaler's scale",
                f"use `scaler.step({event.optimizer})` and `scaler.update()`",
            )
