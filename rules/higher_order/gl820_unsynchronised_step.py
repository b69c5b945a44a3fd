"""GL820: an optimizer steps on gradients that are not the same in all processes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Instance,
    Interpreter,
    LibraryObject,
    Ref,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StateNote,
    StoryNote,
    StoryStep,
    Symbol,
    Tensor,
    Tracker,
    Trigger,
    Tup,
    Value,
    Violation,
    facts,
    in_no_sync,
    module_tree,
    source_text,
    when,
)

DDP = LibraryObject("torch.nn.parallel.DistributedDataParallel")
# What averages gradients without a wrapper.
_BY_HAND = re.compile(r"all_?reduce|(?:average|sync|reduce)\w*_grad", re.IGNORECASE)


@dataclass(slots=True, eq=False, kw_only=True)
class UnsynchronisedStep(Event):
    """An optimizer steps on gradients of a wrapper that only passes without a reduction have added to.

    `is_local`: their forwards were in `no_sync()`; else the wrapper has never been called.
    """

    triggers = (when.NO_SYNC, Trigger(".module", in_file=("DistributedDataParallel", "DDP")))

    optimizer: str
    model: str
    is_local: bool = True


class Reductions(Tracker):
    """Which wrappers have gradients that no backward has reduced."""

    derives = (UnsynchronisedStep,)
    # By what a forward returned, the wrapper, and whether that was in no_sync().
    forwards = RunNote[Value, tuple[Ref, bool]]()
    local = StateNote[bool]()
    # Wrappers whose gradients a backward has reduced since they were cleared.
    reduced = StateNote[bool]()
    where = StoryNote[Ref, Site]()
    # Wrappers that have been called, themselves or as `wrapper.module(...)`, which is another rule's matter.
    called = StoryNote[Ref, bool]()
    # Where the module inside a wrapper was taken out of it first.
    taken = StoryNote[Ref, Site]()

    def on_attribute_read(self, m: Interpreter, s: State, fact: facts.AttributeRead) -> None:
        """`wrapper.module`: whoever has that can call it past the wrapper."""
        ref = fact.object if fact.instr.name == "module" and isinstance(fact.object, Ref) else None
        record = s.get(ref, Instance)
        if ref is not None and record is not None and record.cls == DDP and self.taken.get(s, ref) is None:
            self.taken.set(s, ref, m.site(s, fact.instr.node))

    def on_module_returned(self, m: Interpreter, s: State, fact: facts.ModuleReturned) -> None:
        """A wrapper has made a graph."""
        if source_text(fact.call.site).partition("(")[0].endswith(".module"):
            for ref in _wrappers(s):
                self.called.set(s, ref, True)
        if _is_wrapper(s[fact.module]):
            self.called.set(s, fact.module, True)
            for value in fact.value.items if isinstance(fact.value, Tup) else (fact.value,):
                self.forwards[value] = (fact.module, in_no_sync(s, fact.module))

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Are gradients reduced, those that have accumulated among them, or not?"""
        ran = {ref.id for ref in fact.run.ran}
        reached = [made for value, made in self.forwards.items() if _node(s, value) in ran]
        for wrapper, is_local in reached:
            if is_local:
                self.local.set(s, wrapper, True)
                self.where.set(s, wrapper, fact.run.site)
        for wrapper, is_local in reached:
            if not is_local:
                self.local.clear(s, wrapper)
                self.reduced.set(s, wrapper, True)
        for wrapper in _wrappers(s) if fact.run.call == "backward" else ():
            if not self.called.get(s, wrapper) and self._is_filled(s, wrapper, fact.run.leaves):
                self.local.set(s, wrapper, True)
                self.where.set(s, wrapper, fact.run.site)

    def _is_filled(self, s: State, wrapper: Ref, leaves: Sequence[Ref]) -> bool:
        """Has a pass added to the gradient of a parameter of a wrapper?"""
        parameters = {p.id for _, p in module_tree.named_parameters(s, wrapper)[0] if not s[p].is_summary}
        return any(leaf.id in parameters for leaf in leaves)

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """What is cleared is not applied."""
        for wrapper in _wrappers_of(s, fact.parameters):
            self.local.clear(s, wrapper)
            self.reduced.clear(s, wrapper)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Does an optimizer apply what each process has for itself, whichever way led to the step?"""
        key = id(fact.site.node)
        for wrapper in _wrappers_of(s, fact.parameters):
            site, is_local = self.where.get(s, wrapper), bool(self.called.get(s, wrapper))
            if not self.local.get(s, wrapper):
                if self.reduced.get(s, wrapper):
                    self.drop(key)
            elif site is not None and (
                (is_local and s[wrapper].cls == DDP) or not _BY_HAND.search(fact.site.module.source)
            ):
                model = str(s[wrapper].name or "the model")
                story = self._story(s, wrapper, site, is_local)
                event = UnsynchronisedStep(
                    site=fact.site, story=story, optimizer=fact.name, model=model, is_local=is_local
                )
                self.hold(key, event, ())

    def _story(self, s: State, wrapper: Ref, site: Site, is_local: bool) -> tuple[StoryStep, ...]:
        if is_local:
            return (
                StoryStep(
                    site, "this backward reduces no gradients: its forward is in no_sync()", "backward"
                ),
            )
        taken = self.taken.get(s, wrapper)
        past = (
            ()
            if taken is None
            else (StoryStep(taken, "the module is taken out of its wrapper here", "alias"),)
        )
        return (
            *past,
            StoryStep(
                site, "this backward reduces no gradients: the wrapper's forward has not run", "backward"
            ),
        )


def _is_wrapper(record: Instance) -> bool:
    """Is it a DistributedDataParallel, or a module that is asked for `no_sync()` as one?"""
    return record.cls == DDP or "#no_sync" in record.attrs


def _wrappers(s: State) -> list[Ref]:
    return [ref for ref, record in s.records(Instance) if _is_wrapper(record)]


def _wrappers_of(s: State, parameters: Sequence[Ref]) -> list[Ref]:
    """The wrappers among whose parameters these are."""
    given = {ref.id for ref in parameters}
    return [ref for ref in _wrappers(s) if given & {p.id for _, p in module_tree.named_parameters(s, ref)[0]}]


def _node(s: State, value: Value) -> int | None:
    """The number of the graph node that made a tensor, or what has been taken for one.

    A value of another way through the program has none here.
    """
    taken = s.memory.get(Symbol(("tensor", value)), value)
    tensor = s.heap.get(taken.id) if isinstance(taken, Ref) else None
    if not isinstance(tensor, Tensor):
        return None
    return tensor.grad_fn.id if tensor.grad_fn is not None else None


class StepWithoutReduction(Rule):
    """An optimizer steps although no backward has averaged the gradients over the processes.

    ## What it detects

    A `step()` on the parameters of a `DistributedDataParallel` whose last forward and backward
    since the gradients were cleared both ran in `no_sync()`, on every path to that step, or that
    has never been called: the loss was computed by methods of the module inside it (`agent =
    ddp.module`, then `agent.evaluate(x)`). A model that is passed in counts as such a wrapper if
    the code uses its `no_sync()`.

    ## Why it is wrong

    Gradients are averaged over the processes by the first backward outside of `no_sync()`. Without one each
    process applies its own, and the copies of the model drift apart.

    ## Example

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reductions = []


    def count(state, bucket):
        reductions.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


    model.register_comm_hook(None, count)
    for _ in range(2):
        with model.no_sync():
            loss = model(torch.ones(4, 2)).sum()
            loss.backward()
        optimizer.step()  # <- GL820
        optimizer.zero_grad()
    dist.destroy_process_group()
    ```

    ## Use instead

    ```python
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    reductions = []


    def count(state, bucket):
        reductions.append(bucket.index())
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


    model.register_comm_hook(None, count)
    for _ in range(2):
        with model.no_sync():
            loss = model(torch.ones(4, 2)).sum()
            loss.backward()
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.destroy_process_group()
    ```

    ## Fix safety

    There is no fix: only the author knows which micro-batch is the last before a step.

    ## References

    - [`DistributedDataParallel.no_sync`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html#torch.nn.parallel.DistributedDataParallel.no_sync)
    """

    code = "GL820"
    name = "unsynchronised-step"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "each process applies gradients of its own"
    symptom = "assert not reductions"
    trackers = (Reductions,)

    def on_unsynchronised_step(self, event: UnsynchronisedStep) -> Iterator[Violation]:
        why, advice = (
            (
                "no backward has run outside of no_sync()",
                "leave no_sync() for the last micro-batch before the step",
            )
            if event.is_local
            else ("the wrapper is never called", "call the wrapper, whose forward calls the module inside it")
        )
        yield self.finding(
            event,
            f"`{event.optimizer}` applies gradients of `{event.model}` that were not averaged over the "
            f"processes: {why}",
            advice,
        )
