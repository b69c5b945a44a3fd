"""GL316: an attempt to freeze or unfreeze that sets an attribute nobody reads."""

from collections.abc import Iterator

from gradcheck_tool import FlagWrite, Rule, Severity, Trigger, Violation, renamed, when

_MISSPELT = (
    "require_grad",
    "required_grad",
    "requires_grad_",
    "requires_grads",
    "require_grads",
    "requiresgrad",
    "requires_gradient",
)


class FreezeTypo(Rule):
    """Freezing or unfreezing is written so that it has no effect.

    ## What it detects

    `p.require_grad = False` and similar spellings of `requires_grad` on a tensor,
    `module.requires_grad = False` on a module, which has no such attribute, the comparison
    `p.requires_grad == False` as a statement, and `p = p.detach()` for a parameter where nothing reads
    `p` any more.

    ## Why it is wrong

    Python creates a new attribute that nothing reads, or changes nothing but a name. The parameters keep
    requiring gradients, and the optimizer goes on training them. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.require_grad = False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    model.requires_grad = False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.requires_grad == False  # <- GL316
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter = parameter.detach()  # <- GL316
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    for parameter in model.parameters():
        parameter.requires_grad = False
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 3)
    model.requires_grad_(False)
    ```

    ## Fix safety

    What was meant to be frozen or trained changes, so the fix is unsafe.

    ## References

    - [`torch.nn.Module.requires_grad_`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_)
    """

    code = "GL316"
    name = "freeze-typo"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters still require gradients"
    symptom = "assert all(parameter.requires_grad for parameter in model.parameters())"
    triggers = (
        when.REQUIRES_GRAD,
        Trigger("require_grad", r"\brequire_grad", mentions=("require_grad",)),
        Trigger("required_grad", r"\brequired_grad"),
        Trigger("requiresgrad"),
        Trigger(".detach(", r"for (?:\w+, *)?(\w+) in [^\n]*parameters\(\)[^\n]*:\s+\1 = \1\.detach\("),
    )

    def on_flag_write(self, event: FlagWrite) -> Iterator[Violation]:
        if event.receiver == "module" and event.name == "requires_grad":
            yield self.finding(
                event,
                f"`{event.subject}.requires_grad` is a new attribute of the module that nothing reads; "
                "its parameters "
                "are as they were",
                f"use `{event.subject}.requires_grad_(...)`",
            )
        elif event.receiver == "state-dict":
            yield self.finding(
                event,
                f"`{event.subject}` is a detached copy of the entry of `state_dict()`: the parameter itself "
                "is as it was",
                "go through `named_parameters()`",
            )
        elif event.receiver == "compared":
            yield self.finding(
                event,
                f"`{event.subject}.requires_grad` is only compared here; nothing is frozen",
                "assign the flag with `=`",
            )
        elif event.receiver == "rebound":
            yield self.finding(
                event,
                f"`{event.subject}` is bound to a detached tensor that nothing reads; the parameter itself "
                "is as it was",
                f"use `{event.subject}.requires_grad_(False)`",
            )
        elif event.name in _MISSPELT:
            yield self.finding(
                event,
                f"`{event.subject}.{event.name}` is a new attribute that nothing reads",
                "the flag is spelt `requires_grad`",
                fix=self.unsafe_fix("Correct the spelling", renamed(event.site, "requires_grad")),
            )
