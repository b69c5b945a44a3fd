"""GL517: a loss compares every output with every target."""

from collections.abc import Iterator

from gradcheck_tool import BroadcastLoss, Draft, Rule, Severity


class BroadcastedLoss(Rule):
    """The two sides of a loss have different sizes and are broadcast.

    ## What it detects

    `mse_loss`, `l1_loss`, `smooth_l1_loss` or `huber_loss` of two tensors of certainly different
    sizes, neither of them a single number, such as `(N, 1)` and `(N,)`. Also a back-propagated
    difference of a linear layer's output of size `(N, 1)` and a vector of size `(N,)`, such as the
    targets of a batch.

    ## Why it is wrong

    Broadcasting pairs every output with every target, so the best the model can learn is the mean
    of the targets. PyTorch warns for the losses and says nothing for a difference.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    inputs, targets = torch.randn(8, 3), torch.randn(8)
    outputs = model(inputs)
    loss = torch.nn.functional.mse_loss(outputs, targets)  # <- GL517
    loss.backward()
    pairs = torch.broadcast_shapes(outputs.shape, targets.shape)
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(3, 1)
    inputs, targets = torch.randn(8, 3), torch.randn(8)
    outputs = model(inputs).squeeze(1)
    loss = torch.nn.functional.mse_loss(outputs, targets)
    loss.backward()
    pairs = torch.broadcast_shapes(outputs.shape, targets.shape)
    ```

    ## Fix safety

    There is no fix: which of the two sides has the wrong size is for the author to say.

    ## References

    - [`torch.nn.MSELoss`](https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html)
    - [Broadcasting](https://docs.pytorch.org/docs/stable/notes/broadcasting.html)
    """

    code = "GL517"
    name = "broadcast-loss"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the loss is over all pairs of outputs and targets"
    symptom = "assert tuple(pairs) == (8, 8)"

    def on_broadcast_loss(self, event: BroadcastLoss) -> Iterator[Draft]:
        first, second = event.sizes
        yield self.finding(
            event,
            f"`{event.first}` has size {first} and `{event.second}` {second}: they are "
            "broadcast over wrong pairs",
            "give both the same size",
        )
