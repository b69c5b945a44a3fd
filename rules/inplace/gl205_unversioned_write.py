"""GL205: saved values are changed in a way that autograd cannot notice."""

from collections.abc import Iterator

from gradcheck_tool import Rule, Severity, UnversionedWrite, Violation

_USES = {"": "had saved", "recomputed": "computes with again", "on-ctx": "keeps as an attribute of ctx"}


class UnversionedWriteOnSaved(Rule):
    """A value that backward needs is changed behind autograd's back.

    ## What it detects

    A write through `.data`, through a numpy array that shares the memory, or by assignment to
    `.data`, to a tensor that an operation has saved, followed by the backward that uses it. Writes to
    `.data` with no such graph alive (initialisation, weight clipping after a step, moving averages)
    are not reported. Where no version is asked for, any write counts: to what a checkpoint computes with
    (an optimizer step before the backward that computes it again), and to a tensor that a custom Function
    keeps as an attribute of `ctx`.

    `gradlint run` says which gradients are wrong because of it and by how much, and reports every checkpoint
    that computes with other values when backward calls it again: random numbers, counters, what it reads
    beside its arguments.

    ## Why it is wrong

    These writes do not count in the tensor's version. The same write through `.detach()` or under
    `no_grad` raises in backward; this one gives a wrong gradient and says nothing.

    ## Example

    ```python
    import torch

    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    squashed = weight.sigmoid()
    squashed.data.zero_()  # <- GL205
    squashed.sum().backward()
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.tensor([1.0, 2.0], requires_grad=True)
    squashed = weight.sigmoid()
    squashed.sum().backward()
    squashed.data.zero_()
    ```

    ## Fix safety

    There is no fix: the write may be wanted by other readers of the same memory.

    ## References

    - [In-place correctness checks](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks)
    - [What about `.data`?](https://docs.pytorch.org/docs/stable/notes/autograd.html)
    """

    code = "GL205"
    name = "unversioned-write"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradient is computed from the overwritten values"
    symptom = "assert torch.all(weight.grad == 0), weight.grad  # the true gradient is about 0.2 and 0.1"

    def on_unversioned_write(self, event: UnversionedWrite) -> Iterator[Violation]:
        saved = "the result" if event.tensor == event.op else f"`{event.tensor}`,"
        use = _USES[event.unchecked]
        yield self.finding(
            event,
            f"the gradient is silently wrong: `{event.how}` overwrote {saved} which `{event.op}` {use}",
            "write after backward, or make a new tensor instead of overwriting",
        )
