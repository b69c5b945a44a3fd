"""GL311: a module keeps sub-modules in a plain list or dict."""

from collections.abc import Iterator

from gradcheck_tool import ModuleAttribute, Rule, Severity, Violation

_CONTAINER = {"list": "nn.ModuleList", "dict": "nn.ModuleDict"}
_MISSED = {
    "module": "they are not trained, moved or saved with it",
    "mode": "`eval()` does not reach them, and they go on as in training",
}


class ModulesInList(Rule):
    """A module keeps sub-modules in a plain Python list, tuple or dict.

    ## What it detects

    An attribute of an `nn.Module` that is a list, tuple or dict of modules which nothing else
    registers (`add_module`, `nn.Sequential(*layers)`, a `ModuleList` made of them), one at least of which
    has parameters or buffers, or computes something else in training, as dropout does. Also reported: a
    list of layers from a library out of sight, which are called one by one and whose class is named
    like a layer; and a list that the constructor is given and the class calls one by one, where it is
    annotated as a list of modules, or becomes one with `if isinstance(x, SomeModule): x = [x]`.

    ## Why it is wrong

    `parameters()` does not see them, so they are not trained, moved to the device, saved or switched to
    evaluation. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(3)]  # <- GL311

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x


    model = Stack()
    output = model(torch.randn(2, 4))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).relu()
            return x


    model = Stack()
    output = model(torch.randn(2, 4))
    ```

    ## References

    - [`torch.nn.ModuleList`](https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html)
    - [`torch.nn.ModuleDict`](https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html)
    """

    code = "GL311"
    name = "modules-in-list"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters of these modules are missing from `parameters()`"
    symptom = "assert not list(model.parameters())"

    def on_module_attribute(self, event: ModuleAttribute) -> Iterator[Violation]:
        held, _, container = event.kind.partition("-")
        if held in _MISSED:
            yield self.finding(
                event,
                f"`{event.module}` does not register the modules in `self.{event.attribute}`: "
                f"{_MISSED[held]}",
                f"wrap them in `{_CONTAINER[container]}`",
            )
