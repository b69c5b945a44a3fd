"""GL525: the target of a temporal difference is differentiated."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    StoryStep,
    Tracker,
    Trigger,
    UpdateBody,
    Violation,
    facts,
    nodes,
)

_REWARD = re.compile(r"(?:^|_)(?:r|rs|rews?|rewards?)(?:_|$)", re.IGNORECASE)
_DISCOUNT = re.compile(r"gamma|discount", re.IGNORECASE)
_SQUARES = frozenset({"pow", "square"})


@dataclass(slots=True, eq=False, kw_only=True)
class TrackedTarget(Event):
    """A loss compares what `network` gives with a target that it has computed with a graph, too."""

    triggers = (
        Trigger("target", r"(?:gamma|discount\w*) *\*|\* *(?:self\.)?(?:gamma|discount)", callers=False),
    )

    network: str
    made: str


class Targets(Tracker):
    """Reads the functions that discount what a network gives for the next state."""

    derives = (TrackedTarget,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function that may compute a target."""
        for function in fact.module.functions:
            if not function.decorators and any(_discounts(i) for i in function.instructions()):
                self._read(fact.module, _Update(function))

    def _read(self, module: nodes.ModuleIR, body: "_Update") -> None:
        for loss, value, target in body.compared():
            own = body.networks(value)
            for sum_, call in body.bootstrapped(target):
                network = body.callee(call)
                if network not in own or call in own[network]:
                    continue
                made = Site(module, call.node)
                story = (
                    StoryStep(made, "the next state's value, with its graph", "made"),
                    StoryStep(Site(module, sum_.node), "the target that is computed from it", "note"),
                )
                site = Site(module, loss.node)
                self.report(TrackedTarget(site=site, story=story, network=network, made=self.text(made)))
                break


class _Update(UpdateBody):
    """The code of a function that updates a network, asked what its losses compare."""

    def compared(self) -> Iterator[tuple[nodes.Instr, int, int]]:
        """Losses, and squares of differences, with a value and what it is compared with, both ways round."""
        for i in self.recorded:
            if isinstance(i, nodes.Call) and len(i.args) > 1 and self.LOSS.search(self.name_of(i)):
                one, other = (arg.value for arg in i.args[:2])
            elif (difference := self._squared(i)) is not None:
                one, other = difference.left, difference.right
            else:
                continue
            yield i, one, other
            yield i, other, one

    def bootstrapped(self, target: int) -> Iterator[tuple[nodes.BinOp, nodes.Call]]:
        """Sums of rewards and of what a network gives, discounted, behind a target; with its calls."""
        for i in self._made(self.history(target)):
            if not isinstance(i, nodes.BinOp) or i.op != "+":
                continue
            for one, other in ((i.left, i.right), (i.right, i.left)):
                if self._is_called(one, _REWARD) and self._is_called(other, _DISCOUNT):
                    calls = (call for found in self.networks(other).values() for call in found)
                    yield from ((i, call) for call in calls if self.records(call))

    def networks(self, reg: int) -> dict[str, list[nodes.Call]]:
        """The calls of code that is not torch's behind a value, by what is called."""
        found: dict[str, list[nodes.Call]] = {}
        for i in self._made(self.history(reg)):
            if isinstance(i, nodes.Call) and i.args and not self.computes(i) and (name := self.callee(i)):
                found.setdefault(name, []).append(i)
        return found

    def callee(self, call: nodes.Call) -> str:
        """What is called, by its name: `self.critic` of `self.critic(x)` and of `self.critic.forward(x)`."""
        name = self._path(call.func)
        return name.removesuffix(".forward")

    def _path(self, reg: int) -> str:
        made = self.maker(reg)
        if isinstance(made, nodes.GetAttr):
            owner = self._path(made.obj)
            return f"{owner}.{made.name}" if owner else ""
        source = self.source(reg)
        return source if isinstance(source, str) else made.name if isinstance(made, nodes.LoadName) else ""

    def _squared(self, i: nodes.Instr) -> nodes.BinOp | None:
        """The difference that is squared here."""
        func = self.made.get(i.func) if isinstance(i, nodes.Call) else None
        if isinstance(func, nodes.GetAttr) and func.name in _SQUARES:
            made = self.maker(func.obj)
        elif isinstance(i, nodes.BinOp) and i.op == "**":
            made = self.maker(i.left)
        else:
            return None
        return made if isinstance(made, nodes.BinOp) and made.op == "-" else None

    def _is_called(self, reg: int, name: re.Pattern[str]) -> bool:
        """Is something that is called so among what a value is computed from?"""
        return any(name.search(self._called(source)) for source in self.history(reg))

    def _called(self, source: int | str) -> str:
        made = self.made.get(source) if isinstance(source, int) else None
        if isinstance(made, nodes.Const):
            return made.value if isinstance(made.value, str) else ""
        if isinstance(made, (nodes.GetAttr, nodes.LoadName)):
            return made.name
        return self.variable(source)

    def _made(self, sources: Iterator[int | str]) -> Iterator[nodes.Instr]:
        return (self.made[source] for source in sources if isinstance(source, int))


def _discounts(i: nodes.Instr) -> bool:
    return isinstance(i, (nodes.GetAttr, nodes.LoadName)) and _DISCOUNT.search(i.name) is not None


class TargetDifferentiated(Rule):
    """The gradient of a temporal difference runs through its target.

    ## What it detects

    A loss, or the square of a difference, of what a network gives and of a target that adds a reward to what
    the same network gives for the next state, discounted, where that is neither detached nor computed under
    `no_grad`.

    ## Why it is wrong

    The target is to be a number that the value is moved to. Where it is differentiated, the loss is made
    smaller by moving the value of the next state away as well, so that values are learned slowly or not at
    all. Nothing is raised. (Residual gradients are differentiated so on purpose; suppress the finding there.)

    ## Example

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    critic = nn.Linear(2, 1)


    def temporal_difference(states, rewards, next_states, gamma=0.9):
        target = rewards + gamma * critic(next_states)
        return F.mse_loss(critic(states), target)  # <- GL525


    temporal_difference(torch.zeros(4, 2), torch.ones(4, 1), torch.ones(4, 2)).backward()
    by_target = critic.weight.grad
    ```

    ## Use instead

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn

    critic = nn.Linear(2, 1)


    def temporal_difference(states, rewards, next_states, gamma=0.9):
        with torch.no_grad():
            target = rewards + gamma * critic(next_states)
        return F.mse_loss(critic(states), target)


    temporal_difference(torch.zeros(4, 2), torch.ones(4, 1), torch.ones(4, 2)).backward()
    by_target = critic.weight.grad
    ```

    ## Fix safety

    There is no fix: the target may be detached, or computed by a copy of the network that changes slowly.

    ## References

    - [Reinforcement learning (DQN) tutorial](https://docs.pytorch.org/tutorials/intermediate/reinforcement_q_learning.html),
      which computes the target under `torch.no_grad()`
    """

    code = "GL525"
    name = "tracked-target"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the loss has a gradient through its target"
    symptom = "assert by_target.any()"
    trackers = (Targets,)

    def on_tracked_target(self, event: TrackedTarget) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"the gradient of this loss of `{event.network}` runs through its target, too: "
            f"`{event.made}` is not detached",
            "detach the target, or compute it under torch.no_grad()",
        )
