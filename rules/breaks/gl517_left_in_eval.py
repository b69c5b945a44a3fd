"""GL517: training goes on in evaluation mode."""

from collections.abc import Iterator

from gradcheck_tool import Draft, LeftInEval, Rule, Severity


class LeftInEvaluation(Rule):
    """A model is switched to evaluation and not back before training goes on.

    ## What it detects

    A module with dropout or batch normalisation that is in training mode in the first iteration of a
    loop, and in evaluation mode in the following ones, because `eval()` is called in the loop and
    `train()` is not.

    ## Why it is wrong

    From the second iteration on, dropout does nothing and batch normalisation neither uses nor updates
    batch statistics. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    modes = []
    for _ in range(2):
        modes.append(model.training)
        loss = model(torch.randn(8, 2)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()  # <- GL517
        with torch.no_grad():
            print(model(torch.randn(8, 2)).pow(2).mean())
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    modes = []
    for _ in range(2):
        model.train()
        modes.append(model.training)
        loss = model(torch.randn(8, 2)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            print(model(torch.randn(8, 2)).pow(2).mean())
    ```

    ## Fix safety

    There is no fix: the place where training goes on may be in another function.

    ## References

    - [`torch.nn.Module.train`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.train)
    """

    code = "GL517"
    name = "left-in-eval"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "training goes on without dropout and batch statistics"
    symptom = "assert modes == [True, False]"

    def on_left_in_eval(self, event: LeftInEval) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.call}` leaves `{event.module}` in evaluation mode for the training that follows",
            f"call `{event.module}.train()` before training goes on",
        )
