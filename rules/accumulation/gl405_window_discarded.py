"""GL405: gradients are cleared in every iteration while the optimizer steps in every k-th."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, Violation, WindowDiscarded


class WindowOfGradientsDiscarded(Rule):
    """Accumulated gradients are thrown away before the step that should apply them.

    ## What it detects

    A loop in which the step is guarded by a modulo test of a counter (gradient accumulation), while the
    gradients are cleared in every iteration. Also a loop over the parts of a window that clears in every
    iteration, where the step follows that loop.

    ## Why it is wrong

    Only the last micro-batch of each window contributes to the step; the others are computed for
    nothing. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = [torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)]
    for i, batch in enumerate(batches):
        optimizer.zero_grad()  # <- GL405
        loss = model(batch).sum() / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(2):
        for batch in (torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)):
            optimizer.zero_grad()  # <- GL405
            loss = model(batch).sum() / 3
            loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = [torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)]
    for i, batch in enumerate(batches):
        loss = model(batch).sum() / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Fix safety

    There is no fix: the clearing call may serve other branches as well.

    ## References

    - [Gradient accumulation](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
    """

    code = "GL405"
    name = "window-discarded"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "only the last micro-batch of each window is applied"
    symptom = "assert torch.equal(model.weight, start)  # the last micro-batch alone has a zero gradient"

    def on_window_discarded(self, event: WindowDiscarded) -> Iterator[Violation]:
        when = f"only when `{event.condition}`" if event.condition else "after the loop"
        where = "right after the step, under the same condition" if event.condition else "before the loop"
        yield self.finding(
            event,
            f"gradients of `{event.target}` are cleared in every iteration, but `{event.optimizer}` steps "
            f"{when}: all but the last iteration's are thrown away",
            f"clear {where}",
        )
