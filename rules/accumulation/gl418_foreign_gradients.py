"""GL418: a step applies gradients that the pass for another optimizer has left."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Ref,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StoryNote,
    StoryStep,
    Tensor,
    Tracker,
    Violation,
    facts,
    held_by,
    places,
    when,
)

# Gradients that no step has applied yet.
_WAITING = ("fresh", "added", "scaled")


@dataclass(slots=True, eq=False, kw_only=True)
class ForeignGradients(Event):
    """A backward adds to gradients that the backward of `foreign` has left, whose step was that of `other`.

    Then `optimizer` applies both.
    """

    triggers = when.TRAINING

    root: str
    optimizer: str
    foreign: str
    other: str


@dataclass(frozen=True)
class _Aim:
    """The optimizer that stepped first after a pass, on gradients of it."""

    optimizer: Ref
    name: str
    site: Site


@dataclass(frozen=True)
class _Found:
    """A step on foreign gradients: the passes, by their nodes, and a parameter."""

    event: ForeignGradients
    foreign: int
    own: int
    parameter: int


class Aims(Tracker):
    """Which optimizer each backward is for, and what it leaves in the parameters of others.

    A backward is for the optimizer that steps first after it on its gradients. Optimizers are told apart by
    their names, so that those of a list are one.
    """

    derives = (ForeignGradients,)
    # By the node of the pass: its optimizer, in this state and on all paths.
    aims = StoryNote[int, _Aim]()
    aimed = RunNote[tuple[int, str], bool]()
    # Of a parameter: the pass for another optimizer that has left a gradient, to which one more has added.
    left = StoryNote[Ref, Site]()
    # The parameters whose gradients are cleared somewhere. If they never are, that is another rule's matter.
    cleared = RunNote[int, bool]()
    found = RunNote[tuple[int, str], _Found]()
    # What a pass differentiates, by its node.
    roots = RunNote[int, str]()
    # Passes that keep their graph: what goes through it again is meant to add to their gradients.
    kept = RunNote[int, bool]()

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Remember whose gradients are cleared."""
        for parameter in fact.parameters[:1]:
            self.cleared[parameter.id] = True

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Does a pass add to what another one has left, whose step is over?"""
        site = fact.run.site
        self.aims.pop(s, id(site.node))
        if fact.run.retain:
            self.kept[id(site.node)] = True
        self.roots[id(site.node)] = places.receiver_text(site, str(s[fact.run.roots[0]].name))
        for leaf in fact.run.leaves if fact.run.call == "backward" else ():
            tensor: Tensor = s[leaf]
            self.left.pop(s, leaf)
            earlier = tensor.passes[:-1] if tensor.grad_state in _WAITING else ()
            for before in earlier:
                aim = self.aims.get(s, id(before.node))
                if aim is not None and _is_without(s, aim.optimizer, leaf):
                    self.left.set(s, leaf, before)
                    break

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Are gradients applied that all come from a pass for another optimizer, too?"""
        waiting = [p for p in fact.parameters if s[p].grad_state in _WAITING and s[p].passes]
        left = [self.left.pop(s, p) for p in waiting]
        if waiting and left[0] is not None and all(site == left[0] for site in left):
            self._note(s, fact, waiting[0], left[0])
        for site in (site for p in waiting for site in s[p].passes):
            if self.aims.get(s, id(site.node)) is None:
                self.aims.set(s, id(site.node), _Aim(fact.optimizer, fact.name, fact.site))
                self.aimed[id(site.node), fact.name] = True

    def _note(self, s: State, fact: facts.Stepped, parameter: Ref, foreign: Site) -> None:
        """Remember a step on foreign gradients."""
        passes: tuple[Site, ...] = s[parameter].passes
        own, aim = passes[passes.index(foreign) + 1], self.aims.get(s, id(foreign.node))
        if aim is None or aim.name == fact.name or id(foreign.node) in self.kept:
            return
        root, of = self.roots[id(own.node)], self.roots[id(foreign.node)]
        story = (
            StoryStep(foreign, f"this backward reaches the parameters of `{fact.name}`, too", "backward"),
            StoryStep(aim.site, f"`{aim.name}` applies its part, the rest is left", "applied"),
            StoryStep(own, "this backward adds to what is left", "backward"),
            StoryStep(fact.site, f"`{fact.name}` applies both", "applied"),
        )
        event = ForeignGradients(
            site=own, story=story, root=root, optimizer=fact.name, foreign=of, other=aim.name
        )
        key = id(own.node), fact.name
        if key not in self.found:
            self.found[key] = _Found(self.as_of_now(event), id(foreign.node), id(own.node), parameter.id)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report those whose passes are each for one of the two optimizers alone, on all paths."""
        for found in self.found.values():
            event = found.event
            is_shared = (found.foreign, event.optimizer) in self.aimed or (
                found.own,
                event.other,
            ) in self.aimed
            if not is_shared and found.parameter in self.cleared:
                self.report(event)


def _is_without(s: State, optimizer: Ref, parameter: Ref) -> bool:
    """Is it known what an optimizer holds, and a parameter not part of that?"""
    held = held_by(s, s[optimizer])
    return held is not None and bool(held.items) and parameter not in held.items


class ForeignGradientsApplied(Rule):
    """A step applies gradients that the pass for another optimizer has left.

    ## What it detects

    Two networks that are trained in turns, each with its own optimizer. The backward of the first loss goes
    through the second network, the first optimizer steps, and then the backward of the second loss adds to
    the gradients that are still there, because they were cleared before the first backward or right after
    the step before.

    ## Why it is wrong

    `backward` adds to `.grad` of all that the loss was computed with, whichever optimizer is to step. The
    second optimizer applies the gradient of both losses; in adversarial training one undoes the other.
    Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    optimizer_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    before = critic.weight.detach().clone()
    for real in [torch.ones(4, 2)]:
        fake = generator(torch.ones(4, 2))
        loss_g = -critic(fake).mean()
        loss_g.backward()
        optimizer_g.step()
        optimizer_g.zero_grad()
        loss_c = critic(fake.detach()).mean() - critic(real).mean()
        loss_c.backward()  # <- GL418
        optimizer_c.step()
        optimizer_c.zero_grad()
    applied = (before - critic.weight.detach()) / 0.1
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    optimizer_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    before = critic.weight.detach().clone()
    for real in [torch.ones(4, 2)]:
        fake = generator(torch.ones(4, 2))
        loss_g = -critic(fake).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        loss_c = critic(fake.detach()).mean() - critic(real).mean()
        optimizer_c.zero_grad()
        loss_c.backward()
        optimizer_c.step()
    applied = (before - critic.weight.detach()) / 0.1
    ```

    ## References

    - [Zeroing out gradients](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html)
    - [DCGAN tutorial](https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html), which clears
      the gradients of each network before its own pass
    """

    code = "GL418"
    name = "foreign-gradients"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the step applies the gradient of another loss as well"
    symptom = "assert not torch.allclose(applied, (fake.mean(0) - real.mean(0)).detach(), atol=1e-4)"
    triggers = when.TRAINING

    trackers = (Aims,)

    def on_foreign_gradients(self, event: ForeignGradients) -> Iterator[Violation]:
        message = (
            f"the backward of `{event.root}` adds to gradients of `{event.optimizer}` that the backward of "
            f"`{event.foreign}` has left, which was for `{event.other}`: the step applies both"
        )
        yield self.finding(event, message, f"call `{event.optimizer}.zero_grad()` before this backward")
