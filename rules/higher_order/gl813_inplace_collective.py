"""GL813: a loss is reduced over the processes before backward."""

from collections.abc import Iterator

from gradcheck_tool import DistributedMisuse, Rule, Severity, Violation, when


class InplaceCollective(Rule):
    """A collective overwrites a tensor before it is back-propagated.

    ## What it detects

    `dist.all_reduce(loss)`, `reduce` or `broadcast` of a tensor that requires a gradient, before its
    backward; also inside a loss or a module whose result is differentiated somewhere else.

    ## Why it is wrong

    The collective writes in place and records nothing: the value is the sum over all processes, the
    gradient is that of the local loss alone. PyTorch warns when backward reaches it.

    ## Example

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = torch.nn.Linear(2, 1)
    loss = model(torch.ones(4, 2)).pow(2).mean()
    dist.all_reduce(loss)  # <- GL813
    loss.backward()
    dist.destroy_process_group()
    ```

    ## Use instead

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = torch.nn.Linear(2, 1)
    loss = model(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    shown = loss.detach()
    dist.all_reduce(shown)
    dist.destroy_process_group()
    ```

    ## Fix safety

    There is no fix: the calls have to be reordered.

    ## References

    - [`torch.distributed.all_reduce`](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce)
    """

    code = "GL813"
    name = "inplace-collective"
    severity = Severity.WARNING
    effect = "warns"
    predicts = "an autograd kernel was not registered to the Autograd key"
    triggers = (*when.DIFFERENTIATION, when.COLLECTIVE)

    def on_distributed_misuse(self, event: DistributedMisuse) -> Iterator[Violation]:
        if event.kind == "inplace-collective":
            yield self.finding(
                event,
                f"`{event.call}` overwrites `{event.subject}` in a way that autograd does not record",
                "reduce a detached copy after backward, or use `torch.distributed.nn.all_reduce`",
            )
