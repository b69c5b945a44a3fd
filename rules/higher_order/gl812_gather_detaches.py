"""GL812: gathered tensors have no history."""

from collections.abc import Iterator

from gradcheck_tool import DistributedMisuse, Draft, Rule, Severity


class GatherDetaches(Rule):
    """The result of `all_gather` goes into a loss in place of the tensor that was gathered.

    ## What it detects

    A loss that uses what `dist.all_gather` (or `gather`) filled, where the tensor that was sent
    requires a gradient and is not put back among the gathered ones.

    ## Why it is wrong

    Collectives of `torch.distributed` record no history: the loss is a constant for what was gathered.
    With another term that has a graph, nothing is raised.

    ## Example

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    encoder = torch.nn.Linear(2, 2)
    features = encoder(torch.ones(4, 2))
    gathered = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, features)  # <- GL812
    loss = torch.cat(gathered).pow(2).mean()
    dist.destroy_process_group()
    ```

    ## Use instead

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    encoder = torch.nn.Linear(2, 2)
    features = encoder(torch.ones(4, 2))
    gathered = [torch.zeros_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, features.detach())
    gathered[dist.get_rank()] = features
    loss = torch.cat(gathered).pow(2).mean()
    dist.destroy_process_group()
    ```

    ## Fix safety

    There is no fix: whether gradients are wanted for one's own part or for all is for the author to say.

    ## References

    - [`torch.distributed.all_gather`](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_gather)
    """

    code = "GL812"
    name = "gather-detaches"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the loss has no gradient for what was gathered"
    symptom = "assert not loss.requires_grad"

    def on_distributed_misuse(self, event: DistributedMisuse) -> Iterator[Draft]:
        if event.kind == "gather-detaches":
            yield self.finding(
                event,
                f"`{event.call}` records no history, so the loss has no gradient for `{event.subject}`",
                "put the local tensor back into the gathered list, or use "
                "torch.distributed.nn.functional.all_gather",
            )
