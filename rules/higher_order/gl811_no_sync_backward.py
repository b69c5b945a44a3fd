"""GL811: `no_sync()` around backward only."""

from collections.abc import Iterator

from gradcheck_tool import DistributedMisuse, Rule, Severity, Violation


class NoSyncBackward(Rule):
    """`no_sync()` is entered for backward but not for the forward that goes with it.

    ## What it detects

    `with ddp.no_sync():` around `backward()` of a loss whose forward ran outside.

    ## Why it is wrong

    The forward decides whether the backward that follows reduces gradients. Around backward alone,
    `no_sync()` saves nothing: every micro-batch is reduced.

    ## Example

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    reductions = []


    def count(state, bucket):
        reductions.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


    model.register_comm_hook(None, count)
    loss = model(torch.ones(4, 2)).sum()
    with model.no_sync():
        loss.backward()  # <- GL811
    dist.destroy_process_group()
    ```

    ## Use instead

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    reductions = []


    def count(state, bucket):
        reductions.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


    model.register_comm_hook(None, count)
    with model.no_sync():
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
    dist.destroy_process_group()
    ```

    ## Fix safety

    There is no fix: statements have to be moved into the block.

    ## References

    - [`DistributedDataParallel`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
    """

    code = "GL811"
    name = "no-sync-backward"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "gradients are reduced anyway"
    symptom = "assert reductions"

    def on_distributed_misuse(self, event: DistributedMisuse) -> Iterator[Violation]:
        if event.kind == "no-sync-backward":
            yield self.finding(
                event,
                f"no_sync() of `{event.subject}` is around `{event.call}` but not around its forward, "
                "which decides",
                "put the forward inside no_sync() too",
            )
