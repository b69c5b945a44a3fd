"""TEAM001, a rule on a name of a library: anomaly mode is for debugging."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Rule, Severity, Violation


class AnomalyMode(Rule):
    """Anomaly mode makes every backward several times slower.

    ## What it detects

    Uses of `torch.autograd.set_detect_anomaly` and `detect_anomaly`.

    ## Why it is wrong

    Each operation records a stack trace, and each backward checks for NaN.

    ## Example

    ```python
    import torch

    torch.autograd.set_detect_anomaly(True)  # <- TEAM001
    ```

    ## Use instead

    ```python
    import torch
    ```

    ## References

    - [Anomaly detection](https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection)
    """

    code = "TEAM001"
    name = "anomaly-mode"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "training is slow"
    names = ("torch.autograd.set_detect_anomaly", "torch.autograd.detect_anomaly")

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        yield self.finding(event, f"`{event.name}` slows training down", "leave it to a debugging session")
