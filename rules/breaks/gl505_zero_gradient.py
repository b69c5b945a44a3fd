"""GL505: a loss reaches its parameters only through an operation whose derivative is zero."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradcheck_tool import (
    BackwardPass,
    Event,
    GradientReach,
    Interpreter,
    Node,
    ParameterCutOff,
    Ref,
    Rule,
    RunNote,
    Severity,
    State,
    StoryStep,
    Violation,
    facts,
    has_zero_derivative,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class ZeroGradient(Event):
    """Every way from a back-propagated root to some of its parameters passes an operation whose derivative
    is zero everywhere (`op`: round, floor, sign, ...): their gradients exist and are all zero. `tensor` is
    one of them, `all_of_them` whether there are no others.
    """

    triggers = when.DIFFERENTIATION

    root: str
    op: str
    tensor: str
    all_of_them: bool = True


class ZeroGradients(GradientReach):
    """Follows leaves to which all gradients pass an operation with derivative zero."""

    derives = (ZeroGradient,)
    # Leaves that a gradient reaches without passing such an operation.
    moved = RunNote[int, bool]()
    # Leaves that the gradients of some backward reach through such an operation alone.
    stuck = RunNote[int, ZeroGradient]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Do all gradients pass such an operation, or those of some leaves?"""
        super().on_backward_ran(m, s, fact)
        run = fact.run
        if run.inputs is not None or not run.leaves:
            return
        passed, reached = _without_zeros(s, run)
        for number in reached:
            self.moved[number] = True
        lost = [ref for ref in run.leaves if ref.id not in reached]
        if passed is None or run.opaque or not lost:
            return
        event = ZeroGradient(
            site=run.site,
            story=(StoryStep(passed.site, f"`{passed.text}` has derivative zero everywhere", "cut"),),
            root=str(s[run.roots[0]].name),
            op=str(passed.text),
            tensor=str(s[lost[0]].name),
            all_of_them=len(lost) == len(run.leaves),
        )
        if event.all_of_them:
            self.report(event)
            return
        for ref in lost:
            if s[ref].is_param and ref.id not in self.stuck:
                self.stuck[ref.id] = replace(event, site=passed.site, tensor=str(s[ref].name))

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report operations that keep some parameters from being trained in any way."""
        if self.is_complete(fact):
            stuck = {id(e.site.node): e for number, e in self.stuck.items() if number not in self.moved}
            for event in stuck.values():
                self.report(event)


def _without_zeros(s: State, run: BackwardPass) -> tuple[Node | None, set[int]]:
    """A node with derivative zero on a way from the roots, and the leaves that are reached without one."""
    passed: Node | None = None
    todo: list[object] = [s[root].grad_fn for root in run.roots]
    seen: set[int] = set()
    leaves: set[int] = set()
    while todo:
        at = todo.pop()
        if not isinstance(at, Ref) or at.id in seen:
            continue
        node = s.get(at, Node)
        if node is None:
            leaves.add(at.id)
        elif has_zero_derivative(node):
            passed = node
        else:
            seen.add(at.id)
            todo.extend(node.inputs)
    return passed, leaves


class ZeroGradientOperation(Rule):
    """Every way from the loss to its parameters passes a step function.

    ## What it detects

    A backward in which all gradients pass `round`, `floor`, `ceil`, `trunc`, `sign` or `bernoulli`, or those
    of a layer or a parameter. Where no backward is in sight, the result of a module's `forward` is taken to
    be differentiated.

    ## Why it is wrong

    The derivative of these operations is zero everywhere. Gradients exist, and all are zero. Nothing is
    raised.

    ## Example

    ```python
    import torch

    weight = torch.tensor([0.3, 1.7], requires_grad=True)
    loss = (weight.round() - 3.0).pow(2).sum()
    loss.backward()  # <- GL505
    ```

    ## Use instead

    ```python
    import torch

    weight = torch.tensor([0.3, 1.7], requires_grad=True)
    straight_through = weight + (weight.round() - weight).detach()
    loss = (straight_through - 3.0).pow(2).sum()
    loss.backward()
    ```

    ## References

    - [Gradients for non-differentiable functions](https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions)
    """

    code = "GL505"
    name = "zero-gradient"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "all gradients are zero"
    symptom = "assert not weight.grad.any()"
    trackers = (ZeroGradients,)

    def on_zero_gradient(self, event: ZeroGradient) -> Iterator[Violation]:
        whose = f"of `{event.root}`" if event.all_of_them else f"from `{event.root}` to `{event.tensor}`"
        yield self.finding(
            event,
            f"every gradient {whose} passes `{event.op}`, whose derivative is zero, so `{event.tensor}` gets "
            "zeros",
            "use a straight-through estimate or a smooth substitute",
        )

    def on_parameter_cut_off(self, event: ParameterCutOff) -> Iterator[Violation]:
        if event.cut.kind != "zero-derivative":
            return
        whose = "the parameters of " if event.is_layer else ""
        yield self.finding(
            event,
            f"every gradient from the result of `{event.module}` to {whose}`{event.parameter}` passes "
            f"`{event.cut.call}`, whose derivative is zero",
            "use a straight-through estimate or a smooth substitute",
        )
