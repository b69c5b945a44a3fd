"""GL102: a value of an earlier iteration brings its freed graph into a later one."""

from collections.abc import Iterator

from gradcheck_tool import FreedGraph, Rule, Severity, Violation


class GraphCarriedOver(Rule):
    """A loop differentiates a graph that reaches back into an earlier iteration.

    ## What it detects

    A `backward` in a loop whose graph contains values of an earlier iteration: a recurrent hidden
    state that is not detached, a loss that is accumulated and differentiated every time, or
    something computed once before the loop. The first iteration works; the second raises.

    ## Why it is wrong

    The earlier iteration's `backward` has freed its part of the graph. `retain_graph=True` only
    hides this: every iteration then goes back through all earlier ones, which costs more memory and
    time with each iteration, and once an optimizer steps in the loop it raises again, because the
    step changes weights that the old graph saved.

    ## Example

    ```python
    import torch

    cell = torch.nn.GRUCell(4, 8)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        hidden = cell(torch.randn(2, 4), hidden)
        loss = hidden.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # <- GL102
        optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(4, 1)
    total = 0.0
    for _ in range(3):
        total = total + model(torch.randn(8, 4)).pow(2).mean()
        total.backward()  # <- GL102
    ```

    ```python
    import torch

    weight = torch.randn(4, 4, requires_grad=True)
    mixing = weight.exp()
    for _ in range(3):
        loss = (torch.randn(8, 4) @ mixing).pow(2).mean()
        loss.backward()  # <- GL102
    ```

    ## Use instead

    ```python
    import torch

    cell = torch.nn.GRUCell(4, 8)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
    hidden = torch.zeros(2, 8)
    for _ in range(3):
        hidden = cell(torch.randn(2, 4), hidden.detach())
        loss = hidden.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(4, 1)
    total = 0.0
    for _ in range(3):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        total += loss.item()
    ```

    ```python
    import torch

    weight = torch.randn(4, 4, requires_grad=True)
    for _ in range(3):
        mixing = weight.exp()
        loss = (torch.randn(8, 4) @ mixing).pow(2).mean()
        loss.backward()
    ```

    ## Fix safety

    There is no fix: where to cut the history is a decision about the model.

    ## References

    - [Word-level language model example: `repackage_hidden`](https://github.com/pytorch/examples/tree/main/word_language_model)
    - [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html)
    """

    code = "GL102"
    name = "graph-carried-over"
    severity = Severity.ERROR
    predicts = "Trying to backward through the graph a second time"

    def on_freed_graph(self, event: FreedGraph) -> Iterator[Violation]:
        carrier = event.carrier or event.root
        if event.cause == "carried":
            if carrier == event.root:
                what = f"`{event.root}` still contains the graph of an earlier iteration"
                advice = "detach what is carried over, or call backward once after the loop"
            else:
                what = f"`{carrier}` brings the graph of an earlier iteration into `{event.root}`"
                advice = f"detach `{carrier}` first in each iteration (retain_graph=True only hides this)"
        elif event.cause == "outside-loop":
            early = event.carrier or event.op
            what = f"`{early}` was computed once, before the loop, but every iteration differentiates it"
            advice = f"compute `{early}` inside the loop, or detach it if it is a constant"
        else:
            return
        yield self.finding(event, f"{what}, and `{event.freed_by}` has freed that", advice)
