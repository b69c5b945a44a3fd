"""GL524: a policy gradient differentiates the value that it subtracts as a baseline."""

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

_CRITIC = re.compile(r"critic|critique|value|baseline|(?:^|_)vf?(?:_|$)", re.IGNORECASE)
_LOG_PROB = re.compile(r"log_?probs?$")


@dataclass(slots=True, eq=False, kw_only=True)
class TrackedBaseline(Event):
    """A product with log-probabilities is differentiated by `value`, too, which has a loss of its own."""

    triggers = (
        Trigger("log_prob", r"\blog_?prob\(", callers=False),
        Trigger("log_probs", r"\* *log_?probs?\b", callers=False),
    )

    value: str


class Baselines(Tracker):
    """Reads the functions that multiply log-probabilities by something."""

    derives = (TrackedBaseline,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function that computes log-probabilities."""
        for function in fact.module.functions:
            named = (nodes.GetAttr, nodes.StoreName)
            names = {i.name for i in function.instructions() if isinstance(i, named)}
            if not function.decorators and any(map(_LOG_PROB.search, names)):
                self._read(fact.module, _Update(function))

    def _read(self, module: nodes.ModuleIR, body: "_Update") -> None:
        for value, text in body.critics().items():
            losses = [i for i in body.instrs if isinstance(i, nodes.Call) and body.regresses(i, value)]
            product = next((i for i in body.instrs if body.weighs(i, value)), None)
            if losses and product is not None:
                made = Site(module, body.made[value].node)
                story = (
                    StoryStep(made, "the baseline, with its graph", "made"),
                    StoryStep(Site(module, losses[0].node), "it is trained by a loss of its own", "note"),
                )
                site = Site(module, product.node)
                self.report(TrackedBaseline(site=site, story=story, value=text or self.text(made)))


class _Update(UpdateBody):
    """The code of a function that updates a policy, asked what its products are computed from."""

    def critics(self) -> dict[int, str]:
        """What critics give, by their names, that record a graph: its register, and what it is called.

        So are parts of what a call returns that are called so: `action, value = agent(state)`.
        """
        found: dict[int, str] = {}
        for i in self.recorded:
            if isinstance(i, nodes.Call) and i.args and _is_critic(self.name_of(i)):
                found[i.dst] = ""
            elif isinstance(i, nodes.Unpack) and isinstance(self.maker(i.src), nodes.Call):
                named = ((reg, self.variable(reg)) for reg in i.dsts)
                found.update((reg, name) for reg, name in named if _is_critic(name))
        return found

    def regresses(self, call: nodes.Call, value: int) -> bool:
        """Is it a loss of a value itself?"""
        is_loss = self.LOSS.search(self.name_of(call)) is not None
        return is_loss and any(self.unwrapped(arg.value) == value for arg in call.args)

    def weighs(self, i: nodes.Instr, value: int) -> bool:
        """Does a product multiply log-probabilities by what a value was subtracted from?"""
        if not isinstance(i, nodes.BinOp) or i.op not in ("*", "@"):
            return False
        for one, other in ((i.left, i.right), (i.right, i.left)):
            behind = list(self.history(other))
            made = (self.made[source] for source in behind if isinstance(source, int))
            is_difference = any(isinstance(each, nodes.BinOp) and each.op == "-" for each in made)
            if is_difference and value in behind and any(map(self._is_log_prob, self.history(one))):
                return True
        return False

    def _is_log_prob(self, source: int | str) -> bool:
        made = self.made[source] if isinstance(source, int) else None
        if isinstance(made, nodes.Call):
            return _LOG_PROB.search(self.name_of(made)) is not None
        return isinstance(made, nodes.Unpack) and _LOG_PROB.search(self.variable(source)) is not None


def _is_critic(name: str) -> bool:
    return _CRITIC.search(name) is not None and UpdateBody.LOSS.search(name) is None


class BaselineDifferentiated(Rule):
    """The gradient of a policy runs through the baseline that is subtracted from its returns.

    ## What it detects

    `log_prob * (returns - value)` where `value` is what a critic, or an agent that gives both, has just
    computed, not detached, in a function that also has a loss of that very value.

    ## Why it is wrong

    The baseline is there to reduce the variance of the policy's gradient. Where it is not detached, the loss
    of the policy trains the critic, too: it pushes values up or down by the log-probability, against the loss
    that is to make them right. Nothing is raised.

    ## Example

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.distributions import Categorical

    policy, critic = nn.Linear(2, 3), nn.Linear(2, 1)


    def losses(states, actions, returns):
        value = critic(states).squeeze(-1)
        log_prob = Categorical(logits=policy(states)).log_prob(actions)
        policy_loss = -(log_prob * (returns - value)).mean()  # <- GL524
        return policy_loss, F.mse_loss(value, returns)


    policy_loss, value_loss = losses(torch.ones(4, 2), torch.zeros(4), torch.ones(4))
    policy_loss.backward(retain_graph=True)
    by_policy = critic.weight.grad
    ```

    ## Use instead

    ```python
    import torch
    import torch.nn.functional as F
    from torch import nn
    from torch.distributions import Categorical

    policy, critic = nn.Linear(2, 3), nn.Linear(2, 1)


    def losses(states, actions, returns):
        value = critic(states).squeeze(-1)
        log_prob = Categorical(logits=policy(states)).log_prob(actions)
        policy_loss = -(log_prob * (returns - value.detach())).mean()
        return policy_loss, F.mse_loss(value, returns)


    policy_loss, value_loss = losses(torch.ones(4, 2), torch.zeros(4), torch.ones(4))
    policy_loss.backward(retain_graph=True)
    by_policy = critic.weight.grad
    ```

    ## Fix safety

    There is no fix: the value may be detached where it is made, or where it is subtracted.

    ## References

    - [Actor-critic methods](https://spinningup.openai.com/en/latest/spinningup/rl_intro3.html#baselines-in-policy-gradients)
    """

    code = "GL524"
    name = "tracked-baseline"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the loss of the policy has a gradient for the critic"
    symptom = "assert by_policy is not None"
    trackers = (Baselines,)

    def on_tracked_baseline(self, event: TrackedBaseline) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"the gradient of the policy runs through its baseline `{event.value}`, which has its own loss",
            "detach the baseline, or the advantage, in this product",
        )
