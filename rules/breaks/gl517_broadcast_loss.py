"""GL517: a loss compares every output with every target."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Node,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    Tensor,
    Text,
    Tracker,
    Violation,
    facts,
    when,
)

# Losses that take sides of different sizes, with a warning: functions and layers.
LENIENT = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "mseloss", "l1loss", "smoothl1loss", "huberloss"}
)
# The size of each dimension, None where it is not known; None for a shape that is not known at all.
Shape = tuple[int | None, ...] | None


@dataclass(slots=True, eq=False, kw_only=True)
class BroadcastLoss(Event):
    """The two sides of a loss have different sizes and are broadcast, so that it is over wrong pairs.

    `sizes` are written with `N` for what is not known. `warns`: PyTorch warns of it (mse_loss and the like);
    else the site is a difference of a layer's output with one column and a vector, in a back-propagated root.
    """

    call: str
    first: str
    second: str
    sizes: tuple[str, str]
    warns: bool


class LossSizes(Tracker):
    """Losses whose two sides have different sizes: they are broadcast, and the loss is over all pairs."""

    derives = (BroadcastLoss,)
    # Differences that no backward has reached, by graph node.
    pairs = RunNote[int, BroadcastLoss]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """Are two sides certainly of different sizes, neither of them a single number?"""
        if fact.operation == "-":
            self._subtracted(s, fact)
        if fact.operation not in LENIENT:
            return
        given = [s.get(fact.operands.get(name), Tensor) for name in ("input", "target")]
        sides = [side for side in given if side is not None]
        if len(sides) < 2 or not _is_broadcast(sides[0].shape, sides[1].shape):
            return
        if any(all(size == 1 for size in side.shape or ()) for side in sides):
            return
        if self.once(id(fact.site.node)):
            texts = [self.text(fact.site, argument.value) for argument in getattr(fact.site.node, "args", ())]
            names = texts[:2] if len(texts) > 1 else [str(side.name) for side in sides]
            self.report(_event(sides, names, fact.site, fact.text, warns=True))

    def _subtracted(self, s: State, fact: facts.Computed) -> None:
        """`a - b` of a layer's output of one column and a vector as long subtracts every pair of elements."""
        made = s.get(fact.result, Tensor)
        left, right = (s.get(fact.operands.get(name), Tensor) for name in ("self", "other"))
        if made is None or made.grad_fn is None or left is None or right is None:
            return
        column, row = (left, right) if len(left.shape or ()) == 2 else (right, left)
        if column.shape is None or row.shape is None or len(column.shape) != 2 or len(row.shape) != 1:
            return
        size = row.shape[0]
        node = s.get(column.grad_fn, Node)
        # How many there are in a batch of data is seldom known.
        is_long = size not in (None, 1) or (size is None and row.requires_grad is False)
        if node is not None and node.op == "linear" and is_long and column.shape == (size, 1):
            site = fact.site
            side = getattr(site.node, "left" if row is left else "right", site.node)
            names = [str(column.name), str(row.name) or self.text(site, side)]
            self.pairs[made.grad_fn.id] = _event([column, row], names, site, fact.text, warns=False)

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """A difference that is back-propagated belongs to a loss."""
        for ref in fact.run.ran if self.pairs else ():
            event = self.pairs.pop(ref.id, None)
            if event is not None and self.once(id(event.site.node)):
                self.report(event)


def _event(
    sides: Sequence[Tensor], names: Sequence[str], site: Site, text: Text, warns: bool
) -> BroadcastLoss:
    sizes = (_written(sides[0].shape), _written(sides[1].shape))
    return BroadcastLoss(site=site, call=str(text), first=names[0], second=names[1], sizes=sizes, warns=warns)


def _is_broadcast(a: Shape, b: Shape) -> bool:
    """Are these certainly two sizes, which PyTorch broadcasts so that elements meet more than their own?

    Where one side has only more dimensions than the other, each element still meets its own. Two sides that
    have as many dimensions as each other and are both broadcast were made to, as in the losses of quantiles.
    """
    if a is None or b is None:
        return False
    rank = max(len(a), len(b))
    pairs = list(zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True))
    if any(None not in pair and 1 not in pair and pair[0] != pair[1] for pair in pairs):
        return False
    first, second = any(x == 1 != y for x, y in pairs), any(y == 1 != x for x, y in pairs)
    if len(a) != len(b):
        return first and second
    return first is not second and not any(None in pair and 1 in pair for pair in pairs)


def _written(shape: Shape) -> str:
    """A shape as Python writes it, with `N` for what is not known."""
    sizes = ["N" if size is None else str(size) for size in shape or ()]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


class BroadcastedLoss(Rule):
    """The two sides of a loss have different sizes and are broadcast.

    ## What it detects

    `mse_loss`, `l1_loss`, `smooth_l1_loss` or `huber_loss` of two tensors of certainly different sizes,
    neither of them a single number, such as `(N, 1)` and `(N,)`, or `(N, 1)` and `(N, 3)`; not where one
    has only more dimensions, nor where both have the same number and are both broadcast, as the
    pairwise losses of quantiles are. Also a back-propagated
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

    There is no fix: which of the two sides has the wrong size is for the author to decide.

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
    triggers = when.DIFFERENTIATION
    trackers = (LossSizes,)

    def on_broadcast_loss(self, event: BroadcastLoss) -> Iterator[Violation]:
        first, second = event.sizes
        yield self.finding(
            event,
            f"`{event.first}` has size {first} and `{event.second}` {second}: they are "
            "broadcast over wrong pairs",
            "give both the same size",
        )
