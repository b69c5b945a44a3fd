"""GL810: the module inside DistributedDataParallel is called in training."""

from collections.abc import Iterator

from gradcheck_tool import DistributedMisuse, Rule, Severity, Violation, when


class InnerModule(Rule):
    """Training calls the wrapped module instead of the DistributedDataParallel wrapper.

    ## What it detects

    `ddp.module(x)` in a forward that is back-propagated. In evaluation it is fine.

    ## Why it is wrong

    The wrapper's forward prepares the reduction of gradients. Without it every process steps on its own
    gradients, and the copies of the model drift apart. Nothing is raised.

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
    loss = model.module(torch.ones(4, 2)).sum()  # <- GL810
    loss.backward()
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
    loss = model(torch.ones(4, 2)).sum()
    loss.backward()
    dist.destroy_process_group()
    ```

    ## Fix safety

    There is no fix: the call may be there to save memory in one process on purpose.

    ## References

    - [`DistributedDataParallel`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
    """

    code = "GL810"
    name = "inner-module"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "gradients are not reduced over the processes"
    symptom = "assert not reductions"
    triggers = when.DIFFERENTIATION

    def on_distributed_misuse(self, event: DistributedMisuse) -> Iterator[Violation]:
        if event.kind == "inner-module":
            yield self.finding(
                event,
                f"`{event.call}` bypasses the wrapper `{event.subject}`, so gradients are not reduced "
                "over the processes",
                f"call `{event.subject}` itself",
            )
