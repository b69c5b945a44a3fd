"""GL905: initialisers without the underscore."""

from collections.abc import Iterator

from gradcheck_tool import NameUse, Rule, Severity, Trigger, Violation, renamed

_OLD = (
    "constant",
    "dirac",
    "eye",
    "kaiming_normal",
    "kaiming_uniform",
    "normal",
    "orthogonal",
    "sparse",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
)


class InitWithoutUnderscore(Rule):
    """`torch.nn.init` functions without a final underscore are old names.

    ## What it detects

    Uses of `torch.nn.init.xavier_uniform`, `kaiming_normal`, `normal`, `constant` and the like.

    ## Why it is wrong

    PyTorch warns, and will remove the names.

    ## Example

    ```python
    import torch

    layer = torch.nn.Linear(2, 1)
    torch.nn.init.xavier_uniform(layer.weight)  # <- GL905
    ```

    ## Use instead

    ```python
    import torch

    layer = torch.nn.Linear(2, 1)
    torch.nn.init.xavier_uniform_(layer.weight)
    ```

    ## Fix safety

    The two names mean the same, so the fix is safe. A name that was imported on its own is left alone.

    ## References

    - [`torch.nn.init`](https://docs.pytorch.org/docs/stable/nn.init.html)
    """

    code = "GL905"
    name = "init-without-underscore"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "is now deprecated in favor of `nn.init."
    names = tuple(f"torch.nn.init.{name}" for name in _OLD)
    triggers = (
        Trigger(
            "init",
            r"\binit\.(?:constant|dirac|eye|normal|orthogonal|sparse|uniform|(?:kaiming|xavier)_\w+[a-z])\(",
            imported_from=("torch.nn.init",),
        ),
    )

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        name = event.name.removeprefix("torch.nn.init.")
        if event.called:
            fix = self.safe_fix(f"Use `init.{name}_`", renamed(event.site, f"{name}_"))
            yield self.finding(event, f"`init.{name}` is deprecated", f"use `init.{name}_`", fix=fix)
