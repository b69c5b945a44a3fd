"""GL816: the hooks that keep saved tensors do not let a backward have them."""

from collections.abc import Iterator

from gradcheck_tool import InvalidTensorUse, Rule, Severity, Violation, when


class SavingHooksMisused(Rule):
    """Hooks for saved tensors refuse to save a tensor, or do not give it back.

    ## What it detects

    A pack hook of `saved_tensors_hooks` that writes its argument in place; an unpack hook that returns
    no tensor; a backward outside of the `allow_mutation_on_saved_tensors` block in which its graph was made.

    ## Why it is wrong

    What backward needs cannot be kept or restored. PyTorch raises: for the pack hook when something is
    saved, else in the backward.

    ## Example

    ```python
    import torch

    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.sin().sum()
    y.backward()  # <- GL816
    ```

    ```python
    import torch

    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t):
        y = x.exp().sum()  # <- GL816
    ```

    ```python
    import torch

    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: None):
        y = x.sin().sum()
    y.backward()  # <- GL816
    ```

    ## Use instead

    ```python
    import torch

    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x.sin().sum()
        y.backward()
    ```

    ```python
    import torch

    x = torch.rand(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        y = x.exp().sum()
    ```

    ## References

    - [Hooks for saved tensors](https://docs.pytorch.org/docs/stable/autograd.html#saved-tensors-hooks-doc)
    """

    code = "GL816"
    name = "saving-hooks-misused"
    severity = Severity.ERROR
    predicts = (
        "A saved tensor pack hook is modifying its input in place | "
        "Output of saved tensor unpack_hook expected to be a Tensor | "
        "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    )
    triggers = when.DIFFERENTIATION

    def on_invalid_tensor_use(self, event: InvalidTensorUse) -> Iterator[Violation]:
        if event.kind == "pack-hook":
            yield self.finding(
                event,
                f"`{event.call}` hands a tensor to a pack hook that writes to it",
                "return a new tensor from the hook",
            )
        elif event.kind == "unpack-hook":
            yield self.finding(
                event,
                f"`{event.call}` needs saved tensors that the hooks do not return here",
                "let the unpack hook return a tensor; call backward inside allow_mutation_on_saved_tensors",
            )
