"""GL819: each call of a module registers its hooks once more."""

from collections.abc import Iterator

from gradcheck_tool import HookRegisteredAgain, Rule, Severity, Violation


class HookInForward(Rule):
    """A module's forward registers a hook on one of its own layers.

    ## What it detects

    `self.layer.register_forward_hook(...)` and the like in the `forward` of a module, in a file that
    calls `remove()` of no handle.

    ## Why it is wrong

    The hook stays: the second call runs it twice, the third three times. What it adds up or changes is
    added up or changed again, and what it holds is never freed.

    ## Example

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.seen = 0

        def count(self, module, args, output):
            self.seen += 1

        def forward(self, x):
            self.layer.register_forward_hook(self.count)  # <- GL819
            return self.layer(x)


    net = Net()
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.seen = 0
            self.layer.register_forward_hook(self.count)

        def count(self, module, args, output):
            self.seen += 1

        def forward(self, x):
            return self.layer(x)


    net = Net()
    for _ in range(3):
        net(torch.ones(2, 3)).sum().backward()
    ```

    ## References

    - [`torch.nn.Module.register_forward_hook`](https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook)
    """

    code = "GL819"
    name = "hook-in-forward"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the hook runs once more with each call"
    symptom = "assert net.seen == 6"

    def on_hook_registered_again(self, event: HookRegisteredAgain) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"each call of `{event.method}` registers this hook once more, and nothing removes it",
            "register it in the constructor, or keep the handle and call its `remove()`",
        )
