"""GL516: a module is trained on in evaluation mode."""

from collections.abc import Iterator

from gradcheck_tool import EvalModeTraining, Rule, Severity, Violation


class TrainedInEvalMode(Rule):
    """A module is evaluated during training and stays in evaluation mode.

    ## What it detects

    A module that is put into evaluation mode, evaluated without gradients, and then trained by the
    same line that has trained it in training mode before, with no `train()` in between. Also one for
    which `train()` was called and which was never run in that mode. Only modules with layers to which
    the mode matters are reported.

    ## Why it is wrong

    From the first evaluation on dropout does nothing and batch norm uses frozen statistics while
    the weights go on changing. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for epoch in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(8, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.eval()  # <- GL516
        with torch.no_grad():
            score = model(torch.randn(8, 2)).mean()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        model.train()
        optimizer.zero_grad()
        loss = model(torch.randn(8, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            score = model(torch.randn(8, 2)).mean()
    model.train()
    ```

    ## Fix safety

    There is no fix: where training goes on is for the author to say.

    ## References

    - [`torch.nn.Module.eval`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval)
    - [Evaluation mode](https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval)
    """

    code = "GL516"
    name = "trained-in-eval-mode"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "dropout and batch norm stay switched off for the rest of the training"
    symptom = "assert not model.training"

    def on_eval_mode_training(self, event: EvalModeTraining) -> Iterator[Violation]:
        module = f"`{event.module}`" if event.module else "the module"
        yield self.finding(
            event,
            f"{module} stays in evaluation mode after `{event.call}`, and `{event.optimizer}` trains it on",
            "call `train()` before the next training step",
        )
