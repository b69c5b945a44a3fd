"""GL213: a state that is kept to be restored shares its memory with what training overwrites."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Dict,
    Event,
    Instance,
    Interpreter,
    Ref,
    Rule,
    RunNote,
    Severity,
    State,
    StoryStep,
    Symbol,
    Tensor,
    Tracker,
    Trigger,
    Violation,
    facts,
    places,
    when,
)

# One attribute gets the state of another.
_COPIES = Trigger(
    ".load_state_dict(self.", r"\bself\.\w+\.load_state_dict\(self\.\w+\.state_dict\(\)", callers=False
)
_ATTRIBUTE = re.compile(r"self\.\w+")


@dataclass(slots=True, eq=False, kw_only=True)
class SnapshotRestored(Event):
    """A module loads a state that has been its own all along: every tensor of it is copied into itself.

    Something has written to the parameters since the state was taken: it is not what was to be restored. Or
    the state is that of `other`, another attribute, which holds the same module.
    """

    triggers = (when.LOAD_STATE, _COPIES)

    module: str
    snapshot: str
    other: str = ""


# What makes a state another one than it was. Others put values into it that are to be loaded.
_CHANGES = ("optimizer", "inplace")


class Snapshots(Tracker):
    """Reports states that are restored and never were copies."""

    derives = (SnapshotRestored,)
    # The memory that is written to through the entries of a state.
    edited = RunNote[int, bool]()

    def on_written(self, m: Interpreter, s: State, fact: facts.Written) -> None:
        """Remember what a state itself is given."""
        if _is_entry(s, fact.tensor):
            self.edited[s[fact.tensor].storage.id] = True

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Does a module load the memory that its parameters have, which has been written to?"""
        table = s.get(fact.given, Dict) if fact.by == "loaded" else None
        if table is None:
            return
        values = table.items.values()
        taken: dict[Ref, Tensor] = {
            s[value].storage: s[value] for value in values if isinstance(value, Ref) and _is_entry(s, value)
        }
        memory: list[Ref] = [s[ref].storage for ref in fact.records]
        if len(taken) < len(values) or not memory or any(at not in taken for at in memory):
            return
        changed = [at for at in memory if s[at].writer in _CHANGES and at.id not in self.edited]
        stale = [taken[at] for at in changed if taken[at].base_version != s[at].data]
        if stale:
            self._report(s, fact, stale[0])
        else:
            self._compare(s, fact, taken[memory[0]])

    def _report(self, s: State, fact: facts.Taken, entry: Tensor) -> None:
        """Report a state that is not what it was."""
        memory = s[entry.storage]
        story = (
            StoryStep(entry.site, f"`{self.text(entry.site)}` shares the memory of the parameters", "alias"),
            StoryStep(memory.site, f"`{memory.how}` overwrites it", "changed"),
        )
        self._tell(fact, entry, story)

    def _compare(self, s: State, fact: facts.Taken, entry: Tensor) -> None:
        """Report two attributes of an object that hold the same module, one of which is to get a copy."""
        names = places.receiver_text(fact.site), places.receiver_text(entry.site)
        itself = s.get(s[s.frames[-1]].receiver, Instance)
        if itself is None or names[0] == names[1] or not all(map(_ATTRIBUTE.fullmatch, names)):
            return
        one, other = (itself.attrs.get(name.removeprefix("self.")) for name in names)
        if one is not None and one == other:
            self._tell(fact, entry, (), other=names[1])

    def _tell(
        self, fact: facts.Taken, entry: Tensor, story: tuple[StoryStep, ...], *, other: str = ""
    ) -> None:
        module, snapshot = places.receiver_text(fact.site, "the module"), self.text(entry.site)
        if self.once(id(fact.site.node)):
            event = SnapshotRestored(
                site=fact.site, story=story, module=module, snapshot=snapshot, other=other
            )
            self.report(event)


def _is_entry(s: State, ref: Ref) -> bool:
    """Is it a tensor of a state that a module has handed out?"""
    return Symbol(("state-dict", ref)) in s.memory


class SnapshotNotCopied(Rule):
    """A state that is kept to be restored shares its memory with what training overwrites.

    ## What it detects

    `load_state_dict` with what `state_dict()` of the same module has returned before its parameters were
    changed, by an optimizer or in place, where nothing has made a copy of it: the best weights of a run, or
    those before a trial. Or the state of another attribute that holds the same module, as a target network
    does that is not a copy (`self.target = net`).

    ## Why it is wrong

    The tensors of a `state_dict()` are the parameters themselves, detached: they have the same memory. What
    writes to them changes the state as well: it is always the latest one, and loading it changes nothing.
    Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = model.weight.detach().clone()
    best = model.state_dict()
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).pow(2).mean().backward()
        optimizer.step()
    model.load_state_dict(best)  # <- GL213
    ```

    ## Use instead

    ```python
    import copy

    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    first = model.weight.detach().clone()
    best = copy.deepcopy(model.state_dict())
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).pow(2).mean().backward()
        optimizer.step()
    model.load_state_dict(best)
    ```

    ## References

    - [Saving and loading models](https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html),
      which warns of `best_model_state = model.state_dict()`
    """

    code = "GL213"
    name = "snapshot-not-copied"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the module keeps its latest values"
    symptom = "assert not torch.equal(model.weight, first)"
    triggers = (when.LOAD_STATE, _COPIES)

    trackers = (Snapshots,)

    def on_snapshot_restored(self, event: SnapshotRestored) -> Iterator[Violation]:
        if event.other:
            yield self.finding(
                event,
                f"`{event.module}` and `{event.other}` are the same module: nothing is copied",
                f"make one a copy of the other: `copy.deepcopy({event.other})`",
            )
            return
        yield self.finding(
            event,
            f"`{event.snapshot}` is no copy: it has changed with the parameters since, and `{event.module}` "
            "gets what it has already",
            f"keep a copy: `copy.deepcopy({event.snapshot})`",
        )
