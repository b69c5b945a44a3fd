"""GL315: a Parameter is made of a result and loses its history."""

from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    Interpreter,
    Ref,
    Rule,
    RunNote,
    Severity,
    State,
    Tensor,
    Tracker,
    Violation,
    facts,
    held_by_variables,
    leaves_behind,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterOfResult(Event):
    """`nn.Parameter(t)` where `t` is a result that requires grad: the history is cut silently."""

    triggers = (when.PARAMETER,)

    tensor: str


class ParametersOfResults(Tracker):
    """Follows Parameters that are made of results of what the program holds, in a `forward` or not."""

    derives = (ParameterOfResult,)
    # The leaves behind such a result, by the Parameter.
    made = RunNote[int, tuple[ParameterOfResult, frozenset[int]]]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """Is a Parameter made of a result, behind which there are leaves that the program holds?"""
        if fact.operation != "Parameter" or not isinstance(fact.result, Ref):
            return
        source = s.get(fact.operands.get("data"), Tensor)
        if source is None or not source.requires_grad or source.leaf is not False:
            return
        behind = {leaf.id for leaf in leaves_behind(s, [source.grad_fn])} & held_by_variables(s)
        if behind:
            event = ParameterOfResult(site=fact.site, tensor=str(source.name))
            self.made[fact.result.id] = (event, frozenset(behind))
            if s[s.frames[-1]].function.name == "forward" and self.once(id(fact.site.node)):
                # No optimizer has what each call makes anew: it is there for what is behind it.
                self.report(event)

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Does a gradient end in a Parameter, and reach what is behind it in no other way?

        What nothing holds any more has been replaced: `self.weight = nn.Parameter(self.weight.t())`.
        """
        run = fact.run
        if not self.made or run.opaque or run.call != "backward":
            return
        reached = {leaf.id for leaf in run.leaves}
        for number in reached & self.made.keys():
            event, behind = self.made[number]
            if not reached & behind and behind & held_by_variables(s):
                self.report(event)


class ParameterOfResultRule(Rule):
    """`nn.Parameter` is made of a tensor that has a history.

    ## What it detects

    `nn.Parameter(t)` where `t` was computed from something that requires a gradient, and a backward whose
    gradients end there: what `t` was computed from receives no gradient through it. One that is made in
    `forward` is created again by each call, and no optimizer has it.

    ## Why it is wrong

    `nn.Parameter` keeps the values and drops the history: no gradient flows from the new Parameter to
    what it was computed from. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn

    encoder = nn.Linear(3, 3)
    prototype = nn.Parameter(encoder(torch.ones(1, 3)))  # <- GL315
    loss = (prototype * torch.ones(3)).sum()
    loss.backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn

    encoder = nn.Linear(3, 3)
    prototype = encoder(torch.ones(1, 3))
    loss = (prototype * torch.ones(3)).sum()
    loss.backward()
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL315"
    name = "parameter-of-result"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "no gradient flows to what the Parameter was computed from"
    symptom = "assert encoder.weight.grad is None"
    trackers = (ParametersOfResults,)

    def on_parameter_of_result(self, event: ParameterOfResult) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"nn.Parameter drops the history of `{event.tensor}`: no gradient flows to what it was "
            "computed from",
            "use the tensor itself, or `.detach()` it if only its values are wanted",
        )
