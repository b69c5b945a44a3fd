"""GL415: weight decay moves what a gradient mask is to keep."""

from collections.abc import Iterator

from gradcheck_tool import Draft, MaskedDecay, Rule, Severity


class DecayDespiteMask(Rule):
    """Part of a gradient is set to zero, and the optimizer decays the whole parameter.

    ## What it detects

    An optimizer with weight decay (the default of `AdamW`) that steps a parameter part of whose
    gradient is set to zero before each step, where nothing else writes to the parameter.

    ## Why it is wrong

    Weight decay does not look at gradients: the elements that the mask is to keep shrink at every
    step. Nothing is raised.

    ## Example

    ```python
    import torch

    words = torch.nn.Embedding(4, 2)
    start = words.weight.detach().clone()
    optimizer = torch.optim.AdamW(words.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = words(torch.tensor([0, 3])).pow(2).sum()
        loss.backward()
        words.weight.grad[:3] = 0  # <- GL415
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    words = torch.nn.Embedding(4, 2)
    start = words.weight.detach().clone()
    optimizer = torch.optim.AdamW(words.parameters(), lr=0.1, weight_decay=0.0)
    for _ in range(3):
        optimizer.zero_grad()
        loss = words(torch.tensor([0, 3])).pow(2).sum()
        loss.backward()
        words.weight.grad[:3] = 0
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: whether the decay is to go, or the elements are to be written back after each
    step, is for the author to say.

    ## References

    - [`torch.optim.AdamW`](https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html)
    """

    code = "GL415"
    name = "decay-despite-mask"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the masked elements shrink at every step"
    symptom = "assert not torch.equal(words.weight[:3], start[:3])"

    def on_masked_decay(self, event: MaskedDecay) -> Iterator[Draft]:
        yield self.finding(
            event,
            f"zeros in the gradient of `{event.parameter}` do not keep its elements: `{event.optimizer}` "
            "decays them all the same",
            "make the optimizer with `weight_decay=0`, or write the elements back after each step",
        )
