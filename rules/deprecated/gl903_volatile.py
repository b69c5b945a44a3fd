"""GL903: `volatile`."""

from collections.abc import Iterator

from gradcheck_tool import MethodUse, NameUse, Rule, Severity, Trigger, Violation

_ADVICE = "compute under torch.no_grad() instead"


class Volatile(Rule):
    """`volatile` has no effect any more.

    ## What it detects

    `Variable(t, volatile=True)` and reading or setting `.volatile` of a tensor.

    ## Why it is wrong

    Since PyTorch 0.4 the flag is ignored: gradients are recorded where they were not wanted, which
    costs memory. PyTorch warns.

    ## Example

    ```python
    import torch
    from torch.autograd import Variable

    image = Variable(torch.ones(2), volatile=True)  # <- GL903
    ```

    ## Use instead

    ```python
    import torch

    with torch.no_grad():
        image = torch.ones(2)
    ```

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL903"
    name = "volatile"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "volatile was removed"
    names = ("torch.*",)
    triggers = (Trigger("volatile", mentions=("volatile",)),)

    def on_name_use(self, event: NameUse) -> Iterator[Violation]:
        if "volatile" in event.keywords:
            yield self.finding(event, "`volatile` is ignored: gradients are recorded", _ADVICE)

    def on_method_use(self, event: MethodUse) -> Iterator[Violation]:
        if event.receiver == "tensor" and event.name == "volatile":
            yield self.finding(event, f"`{event.subject}.volatile` has no effect", _ADVICE)
