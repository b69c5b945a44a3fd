"""GL201: an in-place operation changes a tensor that backward still needs."""

from collections.abc import Iterator

from gradcheck_tool import Rule, SavedTensorModified, Severity, Violation


class InplaceOnSaved(Rule):
    """An in-place operation changes a value that some operation saved for its derivative.

    ## What it detects

    A backward through an operation that saved one of its inputs or its result, where the saved
    tensor's memory was written in between: `x += y`, `x[i] = y`, methods that end in `_`,
    `inplace=True`, `out=`. Writes through views, through `.detach()`, and under `no_grad` count; so do
    writes to masks and indices that were saved.

    It knows what each operation saves: `exp`, `tanh`, `sigmoid`, `softmax` and `relu` their result;
    `pow`, `log`, `sin`, `abs` and layer norm their input; `mul` each factor only if the other one needs
    a gradient; sums, means, `cat` and views nothing.

    ## Why it is wrong

    The derivative would be computed from values that are no longer there. PyTorch notices this by a
    version counter and raises in `backward`, far from the line that wrote.

    ## Example

    ```python
    import torch

    scores = torch.randn(4, 4, requires_grad=True)
    weights = scores.softmax(-1)
    weights.masked_fill_(torch.eye(4) > 0, 0.0)
    weights.sum().backward()  # <- GL201
    ```

    ## Use instead

    ```python
    import torch

    scores = torch.randn(4, 4, requires_grad=True)
    weights = scores.softmax(-1)
    weights = weights.masked_fill(torch.eye(4) > 0, 0.0)
    weights.sum().backward()
    ```

    ## Fix safety

    There is no fix: the write may be wanted by other readers of the same memory.

    ## References

    - [In-place correctness checks](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks)
    """

    code = "GL201"
    name = "inplace-on-saved"
    severity = Severity.ERROR
    predicts = (
        "one of the variables needed for gradient computation has been modified by an inplace operation"
    )

    def on_saved_tensor_modified(self, event: SavedTensorModified) -> Iterator[Violation]:
        if event.writer != "inplace":
            return
        saved = f"`{event.tensor}`" if event.tensor else "an argument"
        saved = "its result" if event.tensor == event.op else saved
        yield self.finding(
            event,
            f"`{event.op}` saved {saved} for its derivative, but `{event.write}` changed it before "
            f"`{event.root}` "
            "was differentiated",
            "use the out-of-place operation there, or clone first",
        )
