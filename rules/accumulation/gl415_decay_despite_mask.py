"""GL415: weight decay moves what a gradient mask is to keep."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Const,
    Event,
    Interpreter,
    LibraryObject,
    Ref,
    Rule,
    Severity,
    Site,
    Slice,
    State,
    StateNote,
    StoryNote,
    StoryStep,
    Tensor,
    Tracker,
    Value,
    Violation,
    facts,
    when,
)

# Writes that may set elements to zero, which decay leaves there.
PRUNING = re.compile(r"mul_|\*=|masked_fill_|zero_|= *0")


@dataclass(slots=True, eq=False, kw_only=True)
class MaskedDecay(Event):
    """Part of a gradient is set to zero before each step of an optimizer with weight decay.

    Only reported where nothing else has written to the parameter, so that the elements that the mask is to
    keep are decayed at every step.
    """

    parameter: str
    optimizer: str


class GradientMasks(Tracker):
    """Gradients that the program sets to zero in part, to keep some elements of a parameter as they are.

    Weight decay moves those elements all the same. It does no harm where they are written after each step,
    or are zero because they have been pruned: any write of the program's own to the parameter excuses it.
    """

    derives = (MaskedDecay,)
    decays = StateNote[bool]()
    masked = StoryNote[Value, Site]()
    excused = StoryNote[Ref, bool]()
    has_stepped = StoryNote[Ref, bool]()

    def on_optimizer_made(self, m: Interpreter, s: State, fact: facts.OptimizerMade) -> None:
        """Does the optimizer certainly move weights towards zero at each step?"""
        if fact.call.unsure or any(Const("weight_decay") in group.items for group in fact.groups):
            return
        rate = fact.call.kwargs.get("weight_decay")
        if rate is None:
            decays = fact.call.func == LibraryObject("torch.optim.AdamW")
        else:
            decays = isinstance(rate, Const) and isinstance(rate.value, (int, float)) and rate.value > 0
        if decays:
            self.decays.set(s, fact.optimizer, True)

    def on_item_written(self, m: Interpreter, s: State, fact: facts.ItemWritten) -> None:
        """`grad[index] = 0`, but for `grad[:] = 0`."""
        whole = fact.index in (Slice(None, None, None), Const(Ellipsis))
        if fact.value in (Const(0), Const(0.0)) and isinstance(fact.container, Ref) and not whole:
            self._mask(s, fact.container, fact.site)

    def on_written(self, m: Interpreter, s: State, fact: facts.Written) -> None:
        """`grad *= mask` with a factor of several elements."""
        factor = s.get(fact.operands[0], Tensor) if len(fact.operands) == 1 else None
        if fact.how not in ("*=", "mul_") or factor is None or factor.requires_grad is not False:
            return
        if any(size != 1 for size in factor.shape or ()):
            self._mask(s, fact.tensor, fact.site)

    def _mask(self, s: State, value: Value, site: Site) -> None:
        written = s.get(value, Tensor)
        if written is None:
            return
        for leaf in written.grads_of:
            tensor = s.get(leaf, Tensor)
            held = s.get(tensor.grad, Tensor) if tensor is not None else None
            if held is not None and held.storage == written.storage:
                self.masked.set(s, leaf, site)

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Does the optimizer decay what a mask is to keep, for the second time running?"""
        for ref in fact.parameters:
            storage = s[s[ref].storage]
            place = self.masked.pop(s, ref)
            again = self.has_stepped.get(s, ref)
            own = storage.writer == "inplace" and (again or PRUNING.search(str(storage.how)))
            if own or storage.unsure:
                self.excused.set(s, ref, True)
            self.has_stepped.set(s, ref, True)
            if place is None or self.excused.get(s, ref) or storage.writer != "optimizer":
                continue
            if self.decays.get(s, fact.optimizer) and self.once(id(place.node)):
                name = str(s[ref].name)
                steps = (
                    StoryStep(place, f"part of the gradient of `{name}` is set to zero here", "changed"),
                    StoryStep(fact.site, f"`{fact.name}` decays all of `{name}` here", "applied"),
                )
                self.report(MaskedDecay(site=place, story=steps, parameter=name, optimizer=fact.name))


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
    step, is for the author to decide.

    ## References

    - [`torch.optim.AdamW`](https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html)
    """

    code = "GL415"
    name = "decay-despite-mask"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the masked elements shrink at every step"
    symptom = "assert not torch.equal(words.weight[:3], start[:3])"
    triggers = when.TRAINING
    trackers = (GradientMasks,)

    def on_masked_decay(self, event: MaskedDecay) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"setting gradients to zero does not freeze elements of `{event.parameter}`: weight decay of "
            f"`{event.optimizer}` still shrinks them",
            "create the optimizer with `weight_decay=0`, or restore the elements after each step",
        )
