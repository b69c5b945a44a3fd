"""GL504: an optimizer's parameters take part in the loss, but every way to them is cut."""

import math
from collections.abc import Iterator
from dataclasses import replace

from gradcheck_tool import (
    BackwardPass,
    GradientReach,
    GraphBreak,
    GraphCut,
    Interpreter,
    OptimizerStep,
    ParameterCutOff,
    Ref,
    Rule,
    RunNote,
    Severity,
    State,
    StoryNote,
    Violation,
    facts,
    when,
)

_CUT = {
    "detach": "`.detach()`",
    "data": "`.data`",
    "item": "a Python number",
    "numpy": "numpy",
    "no-grad": "no_grad",
    "retensor": "torch.tensor(...)",
    "non-differentiable": "an operation without a gradient",
}


class Starvation(GradientReach):
    """Follows parameters that are cut off from what is back-propagated, and the places that cut them off."""

    derives = (OptimizerStep,)
    # For each parameter the places that cut it off: how many values, and how.
    cut_off = RunNote[int, dict[int, tuple[int, GraphBreak]]]()
    # Parameters that are stepped although they are cut off.
    starved = RunNote[int, OptimizerStep]()
    # The place that has cut a parameter off from the latest pass, in this state and when it was stepped.
    latest = StoryNote[int, int]()
    latest_at_step = RunNote[int, int | None]()
    # Places that cut off, at least once, only what a gradient reaches otherwise.
    harmless = RunNote[int, bool]()
    # Places whose values several backward calls use.
    shared = RunNote[int, bool]()
    used = StoryNote[GraphCut, BackwardPass]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Which parameters are cut off from the roots?"""
        super().on_backward_ran(m, s, fact)
        run = fact.run
        for ref in run.ran if run.inputs is None else ():
            for constant in s[ref].constant_inputs:
                for cut in constant.severed:
                    if cut.kind != "sample":
                        missed = [] if run.is_astray else self.missed(s, cut, run, groups=True)
                        self._remember(s, cut, missed)
                        self._use(s, run, cut, bool(missed))

    def _remember(self, s: State, cut: GraphCut, missed: list[Ref]) -> None:
        for leaf in missed:
            if s[leaf].is_param:
                size = math.prod(n or 1 for n in cut.shape or ())
                described = replace(GraphBreak.of(cut), tensor=str(s[leaf].name))
                places = self.cut_off.get(leaf.id, {})
                self.latest.set(s, leaf.id, id(cut.site.node))
                self.cut_off[leaf.id] = {**places, id(cut.site.node): (size, described)}

    def _use(self, s: State, run: BackwardPass, cut: GraphCut, misses: bool) -> None:
        """What is cut off here is used by a backward: is it for the second time, or of several origins?

        A value that several backward calls use has to be cut off, because the first one frees its graph. So
        has a state that is carried from window to window of a sequence; the first window then cuts off what
        made it.
        """
        place = id(cut.site.node)
        if not misses and not run.is_astray:
            self.harmless[place] = True
        earlier = self.used.get(s, cut)
        if earlier is None:
            self.used.set(s, cut, run)
        elif earlier is not run:
            self.shared[place] = True

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Does the optimizer step parameters that are cut off from what was back-propagated?"""
        for ref in fact.parameters if self.cut_off else ():
            tensor = s[ref]
            # Whether those of an opaque module have gradients is never known: what no pass reaches has none.
            waits = tensor.requires_grad and (tensor.is_summary or tensor.grad_state in ("none", "zeroed"))
            if waits and ref.id in self.cut_off and ref.id not in self.starved:
                event = OptimizerStep(
                    site=fact.site,
                    optimizer=fact.name,
                    gradients=frozenset({"unknown"}),
                    scaler=fact.scaler,
                    in_loop=m.places.repeats(s, fact.site),
                    assumes=(f"nothing else computes with {tensor.name}",) if tensor.is_summary else (),
                )
                self.starved[ref.id] = self.as_of_now(event)
                self.latest_at_step[ref.id] = self.latest.get(s, ref.id)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report the starved parameters that no gradient has reached on any path."""
        for number, event in self.starved.items() if self.is_complete(fact) else ():
            cut = self._culprit(number)
            if number not in self.fed and cut is not None:
                self.report(replace(event, starved=(cut,)))

    def _culprit(self, parameter: int) -> GraphBreak | None:
        """The place that cuts a parameter off: rather one before its step, or one that cuts many values."""
        trained = {place for number in self.cut_off if number in self.fed for place in self.cut_off[number]}
        cuts = [
            (place not in trained, place == self.latest_at_step[parameter], size, cut)
            for place, (size, cut) in self.cut_off[parameter].items()
            if not self._is_boundary(place, cut)
        ]
        return max(cuts, key=lambda entry: entry[:3])[3] if cuts else None

    def _is_boundary(self, place: int, cut: GraphBreak) -> bool:
        return place in self.shared or (cut.kind in ("detach", "data") and place in self.harmless)


class StarvedParameters(Rule):
    """Parameters are used in a loss and stepped, but no gradient can reach them.

    ## What it detects

    A step of an optimizer some of whose parameters took part in the loss only through something that
    cuts history (`.detach()`, `.data`, `no_grad`, `.item()`, numpy, `argmax`, ...), while other
    parameters get gradients, so that backward does not raise.

    Where no backward is in sight: a Parameter of a module of which the result of `forward` has
    only such constants, as long as nothing else in the repository uses it and `forward` does not write to it.

    ## Why it is wrong

    These parameters never move. Nothing is raised.

    ## Example

    ```python
    import torch

    encoder, head = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    start = encoder.weight.detach().clone()
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        with torch.no_grad():
            features = encoder(torch.ones(4, 2))  # <- GL504
        loss = head(features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    encoder, head = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    start = encoder.weight.detach().clone()
    optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        features = encoder(torch.ones(4, 2))
        loss = head(features).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: whether the cut or the optimizer's parameter list is wrong is for the author to
    decide.

    ## References

    - [Locally disabling gradient computation](https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation)
    """

    code = "GL504"
    name = "starved-parameters"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "these parameters never get a gradient"
    symptom = "assert torch.equal(encoder.weight, start)"
    triggers = when.TRAINING
    trackers = (Starvation,)

    def on_optimizer_step(self, event: OptimizerStep) -> Iterator[Violation]:
        for cut in event.starved:
            yield self.finding(
                event,
                f"`{event.optimizer}` is meant to train `{cut.tensor}`, but no gradient can reach it: "
                f"`{cut.call}` cuts the "
                f"graph by {_CUT.get(cut.kind, cut.kind)}",
                "remove the cut, or do not give these parameters to the optimizer",
                site=cut.site,
            )

    def on_parameter_cut_off(self, event: ParameterCutOff) -> Iterator[Violation]:
        if event.cut.kind == "zero-derivative":
            return
        whose = "the parameters of " if event.is_layer else ""
        yield self.finding(
            event,
            f"no gradient can reach {whose}`{event.parameter}` in `{event.module}`: "
            f"`{event.cut.call}` cuts the graph by {_CUT.get(event.cut.kind, event.cut.kind)}",
            "remove the cut, or freeze what is not to be trained",
        )
