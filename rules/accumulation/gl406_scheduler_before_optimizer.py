"""GL406: a learning rate scheduler steps before its optimizer has."""

from collections.abc import Iterator

from gradcheck_tool import Rule, SchedulerStep, Severity, Violation, when


class SchedulerBeforeOptimizer(Rule):
    """A learning rate scheduler steps before its optimizer has stepped for the first time.

    ## What it detects

    `scheduler.step()` ahead of `optimizer.step()` in the same loop.

    ## Why it is wrong

    The first value of the schedule is skipped, so all of training runs with the next value's learning
    rate. PyTorch warns.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        scheduler.step()  # <- GL406
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).sum().backward()
        optimizer.step()
        scheduler.step()
    ```

    ## Fix safety

    There is no fix: the calls may be in different loops.

    ## References

    - [How to adjust the learning rate](https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate)
    """

    code = "GL406"
    name = "scheduler-before-optimizer"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "Detected call of `lr_scheduler.step()` before `optimizer.step()`"
    triggers = when.TRAINING

    def on_scheduler_step(self, event: SchedulerStep) -> Iterator[Violation]:
        if event.early:
            yield self.finding(
                event,
                f"`{event.scheduler}` steps before `{event.optimizer}` has, so the first learning rate is "
                "skipped",
                f"call `{event.scheduler}.step()` after `{event.optimizer}.step()`",
            )
