"""GL516: a loss broadcasts its input against its target."""

from collections.abc import Iterator

from gradcheck_tool import BroadcastLoss, Draft, Rule, Severity


class BroadcastLossShapes(Rule):
    """A loss compares tensors whose shapes broadcast to a matrix.

    ## What it detects

    An element-wise loss (`mse_loss`, `l1_loss`, `smooth_l1_loss`, or a difference that is reduced) of
    tensors of shapes such as `(n, 1)` and `(n,)`.

    ## Why it is wrong

    Every prediction is compared with every target. The gradient pulls all predictions to the mean of
    the targets. PyTorch warns for its own losses and says nothing for a difference.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    targets = torch.randn(8)
    loss = torch.nn.functional.mse_loss(model(torch.randn(8, 2)), targets)  # <- GL516
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    targets = torch.randn(8)
    loss = torch.nn.functional.mse_loss(model(torch.randn(8, 2)).squeeze(1), targets)
    ```

    ## Fix safety

    There is no fix: which of the two shapes is meant is for the author to say.

    ## References

    - [`torch.nn.functional.mse_loss`](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.mse_loss.html)
    """

    code = "GL516"
    name = "broadcast-loss"
    severity = Severity.ERROR
    effect = "warns"
    predicts = "Using a target size"

    def on_broadcast_loss(self, event: BroadcastLoss) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"`{event.call}` compares shape {event.input_shape} with shape {event.target_shape}, so every "
            "element meets "
            "every other",
            "give both the same shape",
        )
