"""GL524: a policy gradient differentiates the value that it subtracts as a baseline."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    StoryStep,
    Tracker,
    Trigger,
    Violation,
    facts,
    nodes,
)

_CRITIC = re.compile(r"critic|value|baseline|(?:^|_)vf?(?:_|$)", re.IGNORECASE)
_LOSS = re.compile(r"loss|mse|huber|criterion", re.IGNORECASE)
_LOG_PROB = re.compile(r"log_?prob$")
_CUTS = frozenset({"data", "detach", "item", "numpy", "tolist"})
# What keeps the elements of a tensor, in another form.
_KEEPS = frozenset(
    {"clone", "contiguous", "flatten", "float", "reshape", "squeeze", "to", "unsqueeze", "view", "view_as"}
)
_WITHOUT = frozenset({"inference_mode", "no_grad", "set_grad_enabled"})


@dataclass(slots=True, eq=False, kw_only=True)
class TrackedBaseline(Event):
    """A product with log-probabilities is differentiated by `value`, too, which has a loss of its own."""

    triggers = (Trigger("log_prob", r"\blog_?prob\(", callers=False),)

    value: str


class Baselines(Tracker):
    """Reads the functions that multiply log-probabilities by something."""

    derives = (TrackedBaseline,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function that computes log-probabilities."""
        for function in fact.module.functions:
            names = {i.name for i in function.instructions() if isinstance(i, nodes.GetAttr)}
            if not function.decorators and any(map(_LOG_PROB.search, names)):
                self._read(fact.module, _Update(function))

    def _read(self, module: nodes.ModuleIR, body: "_Update") -> None:
        for value in body.critics():
            losses = [i for i in body.instrs if isinstance(i, nodes.Call) and body.regresses(i, value)]
            product = next((i for i in body.instrs if body.weighs(i, value)), None)
            if losses and product is not None:
                story = (
                    StoryStep(Site(module, value.node), "the baseline, with its graph", "made"),
                    StoryStep(Site(module, losses[0].node), "it is trained by a loss of its own", "note"),
                )
                site = Site(module, product.node)
                text = self.text(Site(module, value.node))
                self.report(TrackedBaseline(site=site, story=story, value=text))


class _Update(FunctionBody):
    """The code of a function that updates a policy, asked what its products are computed from."""

    def critics(self) -> list[nodes.Call]:
        """The calls of critics, by their names, that record a graph."""
        found, without = [], []
        for i in self.instrs:
            if isinstance(i, nodes.EnterWith) and self._name(self.maker(i.manager)) in _WITHOUT:
                without.append(i.manager)
            elif isinstance(i, nodes.ExitWith) and i.manager in without:
                without.remove(i.manager)
            elif isinstance(i, nodes.Call) and i.args and not without:
                name = self._name(i)
                found += [i] if _CRITIC.search(name) and not _LOSS.search(name) else []
        return found

    def regresses(self, call: nodes.Call, value: nodes.Call) -> bool:
        """Is it a loss of a value itself?"""
        is_loss = _LOSS.search(self._name(call)) is not None
        return is_loss and any(self._same(arg.value) is value for arg in call.args)

    def weighs(self, i: nodes.Instr, value: nodes.Call) -> bool:
        """Does a product multiply log-probabilities by what a value was subtracted from?"""
        if not isinstance(i, nodes.BinOp) or i.op not in ("*", "@"):
            return False
        for one, other in ((i.left, i.right), (i.right, i.left)):
            behind = list(self.behind(other, self._ends))
            is_difference = any(isinstance(made, nodes.BinOp) and made.op == "-" for made in behind)
            if is_difference and value in behind and self._is_log_prob(one):
                return True
        return False

    def _is_log_prob(self, reg: int) -> bool:
        behind = self.behind(reg, self._ends)
        return any(isinstance(i, nodes.Call) and _LOG_PROB.search(self._name(i)) for i in behind)

    def _ends(self, made: nodes.Instr) -> bool:
        """Is nothing behind it differentiated, as far as one can see?"""
        if isinstance(made, nodes.GetAttr):
            return made.name in _CUTS
        if isinstance(made, nodes.LoadName):
            stores = self.stores.get(made.name, ())
            return len(stores) > 1 and any(self._cuts(store.src) for store in stores)
        return isinstance(made, nodes.Call) and not self._is_of_tensors(made)

    def _cuts(self, reg: int) -> bool:
        made = self.maker(reg)
        return self._name(made) in _CUTS

    def _is_of_tensors(self, call: nodes.Call) -> bool:
        """Is it a function of torch or a method of a result, and not code that may detach what it gets?"""
        func = self.made.get(call.func)
        if not isinstance(func, nodes.GetAttr):
            return False
        owner = self.maker(func.obj)
        return (
            self.is_library(func.obj) or isinstance(owner, (nodes.Call, nodes.BinOp)) or func.name in _KEEPS
        )

    def _same(self, reg: int) -> nodes.Instr | None:
        """What made a value, in whatever form it is handed on."""
        made = self.maker(reg)
        while isinstance(made, nodes.Call) and self._name(made) in _KEEPS:
            func = self.made.get(made.func)
            made = self.maker(func.obj) if isinstance(func, nodes.GetAttr) else None
        return made

    def _name(self, made: nodes.Instr | None) -> str:
        """The name of what a call calls, or of an attribute; that of the object for `critic.forward(...)`."""
        if isinstance(made, nodes.Call):
            func = self.maker(made.func)
            if isinstance(func, nodes.GetAttr) and func.name == "forward":
                func = self.maker(func.obj)
            return func.name if isinstance(func, (nodes.GetAttr, nodes.LoadName)) else ""
        return made.name if isinstance(made, nodes.GetAttr) else ""


class BaselineDifferentiated(Rule):
    """The gradient of a policy runs through the baseline that is subtracted from its returns.

    ## What it detects

    `log_prob * (returns - value)` where `value` is what a critic has just computed, not detached, in a
    function that also has a loss of that very value.

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
