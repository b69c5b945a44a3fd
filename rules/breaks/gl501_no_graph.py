"""GL501: backward from something that has no graph."""

from collections.abc import Iterator, Sequence

from gradcheck_tool import BackwardCall, Event, NoGraph, Rule, Severity, Violation

_WHY = {
    "constant": (
        "nothing it was computed from requires a gradient",
        "set requires_grad on what is to be trained",
    ),
    "no-grad": (
        "it was computed while gradients were not recorded",
        "move the forward pass out of the no_grad block",
    ),
    "detach": (
        "`.detach()` cut it off from everything before",
        "differentiate the tensor before it was detached",
    ),
    "data": ("`.data` cut it off from everything before", "differentiate the tensor itself, not its `.data`"),
    "item": (
        "it went through a Python number",
        "keep tensors until after backward; use `.item()` for logging only",
    ),
    "numpy": (
        "it went through numpy, which records no gradients",
        "use the torch operations of the same name",
    ),
    "retensor": (
        "torch.tensor() copied values into a new tensor without history",
        "use torch.stack or torch.cat on the tensors themselves",
    ),
    "non-differentiable": (
        "it went through an operation that has no gradient (argmax, a comparison, a cast to integers, ...)",
        "use a differentiable substitute such as softmax or a soft threshold",
    ),
    "frozen": (
        "all parameters it was computed with are frozen",
        "unfreeze what is to be trained before the forward",
    ),
    "unknown": ("it does not require a gradient", "check where its history was cut"),
}


class NoGraphToBackward(Rule):
    """A gradient is requested of something that autograd has no history of.

    ## What it detects

    `backward()` or `torch.autograd.grad` of a value that surely does not require a gradient: it was
    computed under `no_grad`, went through `.detach()`, `.data`, `.item()`, numpy, `torch.tensor(...)`,
    `argmax` or a comparison, or all parameters involved are frozen. A constant that is differentiated in
    place of a loss on some paths only (`if not batch: loss = torch.zeros(())`) is not reported: the
    data say whether that path is ever taken. What only a constructor has put into an attribute is reported
    where no other function of the file assigns the attribute and no other file mentions it.

    ## Why it is wrong

    Without history nothing can be differentiated. PyTorch raises. Setting `requires_grad` on the loss
    silences the error, but then no parameter gets a gradient.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    with torch.no_grad():
        loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()  # <- GL501
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 5)
    prediction = model(torch.randn(4, 3)).argmax(dim=1)
    loss = (prediction - torch.ones(4)).pow(2).mean()
    loss.backward()  # <- GL501
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    losses = [model(torch.randn(4, 3)).mean() for _ in range(2)]
    loss = torch.tensor(losses).sum()
    loss.backward()  # <- GL501
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 5)
    expected = model(torch.randn(4, 3)).softmax(dim=1) @ torch.arange(5.0)
    loss = (expected - torch.ones(4)).pow(2).mean()
    loss.backward()
    ```

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    losses = [model(torch.randn(4, 3)).mean() for _ in range(2)]
    loss = torch.stack(losses).sum()
    loss.backward()
    ```

    ## Fix safety

    There is no fix: which of the operations on the way was meant to keep the history is for the author
    to decide.

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL501"
    name = "no-graph"
    severity = Severity.ERROR
    predicts = "does not require grad and does not have a grad_fn"

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        runs = {id(event.site.node) for event in events if isinstance(event, BackwardCall)}
        for event in events:
            if not isinstance(event, NoGraph) or event.reason == "create-graph":
                continue
            # Whether the constant that stands in for a loss is ever differentiated, the data say.
            if event.reason == "constant" and id(event.site.node) in runs:
                continue
            why, advice = _WHY.get(event.reason, _WHY["unknown"])
            yield self.finding(event, f"`{event.root}` has no graph to differentiate: {why}", advice)
