"""GL403: gradients are clipped where there is nothing to clip, or after they were applied."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gradcheck_tool import (
    BackwardCall,
    ClipGradients,
    Const,
    Event,
    Interpreter,
    NameUse,
    Ref,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StoryNote,
    StoryStep,
    Tracker,
    Violation,
    by_site,
    callee_text,
    facts,
    held_by,
    held_parameters,
    module_tree,
    places,
    when,
)

_CLIPPING = frozenset({"clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"})
# What clip_grad_value_ raises without gradients.
_REFUSED = "Expected !nested_tensorlist[0].empty() to be true, but got false."
# Gradients that no step has applied yet.
_WAITING = ("fresh", "mixed")


@dataclass(slots=True, eq=False, kw_only=True)
class DiscardedClip(Event):
    """Gradients are clipped, `optimizer` steps, which does not have them, and then they are cleared."""

    triggers = (when.CLIP_GRAD,)

    target: str
    optimizer: str


@dataclass(frozen=True)
class _Clip:
    """A parameter whose gradient has been clipped, and the optimizer that has stepped without it since."""

    parameter: Ref
    site: Site
    passed: Site | None = None
    optimizer: str = ""


class ClippedGradients(Tracker):
    """Follows clipped gradients to the step that applies them, or to where they are cleared."""

    derives = (DiscardedClip,)
    # Clipped gradients that no step has applied yet, under one key.
    _waiting = StoryNote[str, tuple[_Clip, ...]]()
    # The nodes of calls of which something is used on some path, and what is discarded of others.
    _used = RunNote[int, bool]()
    _discarded = RunNote[int, DiscardedClip]()

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """Gradients are clipped."""
        if fact.operation not in _CLIPPING or fact.arguments.get("max_norm") == Const(float("inf")):
            return
        given = fact.arguments["parameters"]
        parameters, is_open = (
            module_tree.parameters_of(s, given) if not isinstance(given, list) else ([], True)
        )
        if is_open and not {p.id for p in parameters} <= module_tree.whole_groups(s):
            self._used[id(fact.site.node)] = True
        clips = tuple(_Clip(p, fact.site) for p in parameters if s[p].grad_state in _WAITING)
        others = self._others_than({clip.parameter for clip in clips}, s)
        self._waiting.set(s, "", (*others, *clips))

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Which of the clipped gradients does an optimizer leave out?"""
        held = held_by(s, s[fact.optimizer])
        is_known = held is not None and not held.open and not s[fact.optimizer].open
        self._use(s, fact.parameters)
        left = self._left(s)
        if not is_known:
            self._use(s, [clip.parameter for clip in left])
        elif left:
            passed = tuple(
                clip if clip.passed else replace(clip, passed=fact.site, optimizer=fact.name) for clip in left
            )
            self._waiting.set(s, "", passed)

    def on_gradients_applied(self, m: Interpreter, s: State, fact: facts.GradientsApplied) -> None:
        """The program may use gradients itself."""
        self._use(s, fact.parameters)

    def on_attribute_read(self, m: Interpreter, s: State, fact: facts.AttributeRead) -> None:
        """Who looks at a clipped gradient uses it."""
        if fact.instr.name == "grad" and isinstance(fact.object, Ref):
            self._use(s, [fact.object])

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Are clipped gradients gone that a step has left out?"""
        cleared = set(fact.parameters)
        waiting = self._left(s)
        for clip in waiting:
            if clip.parameter in cleared and clip.passed is not None and fact.is_fresh:
                target = places.owner_text(clip.site)
                story = (
                    StoryStep(clip.passed, f"`{clip.optimizer}` steps without these", "applied"),
                    StoryStep(fact.site, "the clipped gradients are cleared here", "cleared"),
                )
                self._discarded.setdefault(
                    id(clip.site.node),
                    DiscardedClip(site=clip.site, story=story, target=target, optimizer=clip.optimizer),
                )
        if waiting:
            self._waiting.set(s, "", self._others_than(cleared, s))

    def on_path_ended(self, m: Interpreter, s: State, fact: facts.PathEnded) -> None:
        """Who calls may let an optimizer step that has clipped gradients."""
        held = held_parameters(s)
        waiting = self._left(s)
        if waiting:
            self._waiting.set(
                s, "", tuple(c for c in waiting if held is not None and c.parameter not in held)
            )

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report the calls of which nothing was used on any path."""
        for node, event in self._discarded.items() if fact.is_complete else ():
            if node not in self._used:
                self.report(event)

    def _left(self, s: State) -> tuple[_Clip, ...]:
        """The clipped gradients that no step has applied yet."""
        return self._waiting.get(s, "") or ()

    def _others_than(self, parameters: set[Ref], s: State) -> tuple[_Clip, ...]:
        return tuple(clip for clip in self._left(s) if clip.parameter not in parameters)

    def _use(self, s: State, parameters: Sequence[Ref]) -> None:
        """The clipped gradients of these parameters are used."""
        used = set(parameters)
        waiting = self._left(s)
        for clip in waiting:
            if clip.parameter in used:
                self._used[id(clip.site.node)] = True
        if any(clip.parameter in used for clip in waiting):
            self._waiting.set(s, "", self._others_than(used, s))


class ClipWithoutEffect(Rule):
    """Clipping comes before backward, after the step, or for parameters whose gradients nothing applies.

    ## What it detects

    `clip_grad_norm_` or `clip_grad_value_` at a place where, every time, the gradients do not exist
    yet, were cleared, or have already been applied by a step. Parameters whose gradients come from
    `torch.autograd.grad` have no `.grad`, so clipping them does nothing. Parameters that the optimizer
    which steps next does not have are reported where their clipped gradients are then cleared. Calls that
    only measure the norm are not reported, nor those in code that differentiates nothing: its callers may
    have done so.

    ## Why it is wrong

    The gradients that the optimizer applies are never clipped. `clip_grad_norm_` says nothing;
    `clip_grad_value_` raises where no parameter has a gradient.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(1):
        optimizer.zero_grad()
        loss = (100 * model(torch.ones(4, 2))).sum()
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <- GL403
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    parameters = list(model.parameters())
    for _ in range(1):
        loss = (100 * model(torch.ones(4, 2))).sum()
        gradients = torch.autograd.grad(loss, parameters)
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)  # <- GL403
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        optimizer.step()
    ```

    ```python
    import torch

    model, critic = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
    torch.nn.init.ones_(critic.weight)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(2):
        optimizer.zero_grad()
        critic.zero_grad()
        loss = (100 * critic(model(torch.ones(4, 2)))).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)  # <- GL403
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(1):
        optimizer.zero_grad()
        loss = (100 * model(torch.ones(4, 2))).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    parameters = list(model.parameters())
    for _ in range(1):
        loss = (100 * model(torch.ones(4, 2))).sum()
        gradients = torch.autograd.grad(loss, parameters)
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    ```

    ```python
    import torch

    model, critic = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
    torch.nn.init.ones_(critic.weight)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(1):
        optimizer.zero_grad()
        critic.zero_grad()
        loss = (100 * critic(model(torch.ones(4, 2)))).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    ```

    ## Fix safety

    There is no fix: the place between backward and step may be in another function.

    ## References

    - [`torch.nn.utils.clip_grad_norm_`](https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
    """

    code = "GL403"
    name = "clip-without-effect"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the gradients that are applied are not clipped"
    symptom = "assert (model.weight - start).norm() > 1.1"
    triggers = (*when.TRAINING, when.CLIP_GRAD)
    trackers = (ClippedGradients,)

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        differentiating = {event.unit for event in events if _differentiates(event)}
        for visits in by_site(events, ClipGradients).values():
            seen = frozenset().union(*(clip.gradients for clip in visits))
            if seen == {"none"} and differentiating.isdisjoint(clip.unit for clip in visits):
                # Where nothing is differentiated, callers have done so, or nothing is trained at all.
                continue
            if seen and seen <= {"none", "zeroed", "stale"} and not any(clip.measures for clip in visits):
                target = visits[0].target
                if all(clip.is_result for clip in visits):
                    message = f"clipping `{target}` has no effect: it is a result, not parameters"
                    yield self.finding(visits[0], message, "pass `model.parameters()`, after the backward")
                    continue
                message = f"clipping `{target}` has no effect here: {_why(seen)}"
                told = self.finding(visits[0], message, "clip between backward and step")
                is_refused = seen == {"none"} and callee_text(visits[0].site).endswith("clip_grad_value_")
                yield replace(told, predicts=_REFUSED) if is_refused else told
        for event in (event for event in events if isinstance(event, DiscardedClip)):
            message = (
                f"clipping `{event.target}` has no effect here: `{event.optimizer}` does not have these "
                "parameters, and their gradients are cleared before any step"
            )
            yield self.finding(event, message, f"clip the parameters of `{event.optimizer}`")


def _differentiates(event: Event) -> bool:
    return isinstance(event, BackwardCall) or (
        isinstance(event, NameUse) and event.name == "torch.autograd.grad"
    )


def _why(kinds: frozenset[str]) -> str:
    if "stale" in kinds:
        return "the step has applied these gradients already"
    if kinds == {"none"}:
        return "no backward has stored a gradient in these parameters"
    return "the gradients were cleared and no backward has followed"
