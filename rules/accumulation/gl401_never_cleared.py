"""GL401: gradients of an earlier step are added to those of the next one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradcheck_tool import (
    Bound,
    Event,
    Func,
    Instance,
    Interpreter,
    LibraryObject,
    LoopWay,
    Method,
    Replacement,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    StoryStep,
    Symbol,
    Tensor,
    Tracker,
    Value,
    Violation,
    common_loop,
    facts,
    loop_way,
    nodes,
    places,
    when,
)

# Reads a clock, or how much memory is taken.
_MEASURES = re.compile(
    r"\btime\.(?:time|perf_counter|monotonic)(?:_ns)?\(|\bperf_counter(?:_ns)?\(|\btimeit\b|\belapsed_time\("
    r"|\b(?:\w+_)?[Tt]imer\b|\bprofiler?\b|\bmax_memory_\w+\(|\bmemory_(?:allocated|reserved)\(|\bnvml\w+\("
)
# Has a use for the model or its loss: it is shown, kept, saved, evaluated, returned.
_USES = re.compile(
    r"\.(?:item|tolist|eval|state_dict|append|add_scalar|log|save\w*)\(|\b(?:evaluate|validate|test|save\w*)\("
    r"|\bassert|\breturn[ \t]+[^\s\d]|\b(?:accuracy|metrics?|wandb|writer|history|checkpoint)\b"
    r"|\b(?:print|info|write|update|set_description|set_postfix)\([^\n]*\bloss"
)


@dataclass(slots=True, eq=False, kw_only=True)
class AppliedAgain(Event):
    """A backward adds to gradients that a step has applied, and the next step applies them again.

    `owner` is the text of the optimizer, or empty where the program updates the parameter itself; `step` is
    where the gradients were applied first. `unreached` is a call in code that ran which would clear them, on
    a line that is never reached.
    """

    triggers = when.TRAINING

    root: str
    owner: str
    parameter: str
    step: Site
    unreached: Site | None = None


class Windows(Tracker):
    """Where gradients are cleared, where they are applied and which backward they came from.

    The parameters of an optimizer or a module are known by the first of them.
    """

    derives = (AppliedAgain,)
    # By parameter and place: clearings in loops, and by place the steps in loops.
    clearings = RunNote[tuple[int, int], LoopWay]()
    steps = RunNote[int, LoopWay]()
    twice = RunNote[tuple[int, str], tuple[AppliedAgain, int]]()
    # The places of updates by hand.
    by_hand = RunNote[int, bool]()
    # The calls of `zero_grad` that were carried out.
    ran = RunNote[int, bool]()
    # The units that call methods with nothing in them: subclasses fill them in, and may clear gradients.
    hooked = RunNote[str, bool]()
    # Functions out of sight that are given a whole module, by unit: they might clear its gradients.
    shown = RunNote[str, str]()

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Remember the calls that clear gradients, and those that a subclass decides about."""
        if isinstance(fact.func, Bound):
            if m.program.unit and _is_empty(s.get(fact.func.func, Func)):
                self.hooked[m.program.unit] = True
        elif _is_out_of_sight(fact.func) and any(s.get(value, Instance) is not None for value in fact.args):
            text = self.text(m.site(s, fact.instr.node)).partition("(")[0]
            self.shown.setdefault(m.program.unit, text)
        elif isinstance(fact.func, Method) and fact.func.name == "zero_grad":
            self.ran[id(fact.instr)] = True

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Remember where gradients are cleared in a loop."""
        way = loop_way(m.places, s, fact.site) if fact.parameters else None
        if way is not None:
            self.clearings[fact.parameters[0].id, id(fact.site.node)] = way

    def on_gradients_applied(self, m: Interpreter, s: State, fact: facts.GradientsApplied) -> None:
        """Are gradients applied that an earlier step has applied already?"""
        way = loop_way(m.places, s, fact.site)
        if way is not None:
            self.steps[id(fact.site.node)] = way
        if not fact.name:
            self.by_hand[id(fact.site.node)] = True
        tensors: list[Tensor] = [s[p] for p in fact.parameters]
        twice = [t for t in tensors if t.grad_state in ("mixed", "mixed-used") and t.step_site is not None]
        if not twice or twice[-1].backward_site is None:
            return
        if not fact.name:
            self._applied_by_hand(twice[0], fact.site)
            return
        if all(id(t.step_site.node) in self.by_hand for t in twice):
            return  # the optimizer makes the steps: what else is added is an attack, which is taken back
        where, owner = twice[-1].backward_site, fact.name
        if _may_run_once(m.places, where) or _only_runs(m.places, where):
            return
        steps = (
            StoryStep(twice[0].step_site, f"`{fact.text}` applies the gradients here", "applied"),
            StoryStep(where, "this backward adds to them, because nothing has cleared them", "backward"),
            StoryStep(
                fact.site, f"`{fact.text}` applies the old gradients again together with the new", "applied"
            ),
        )
        root = places.receiver_text(where, places.owner_text(where, str(fact.text)))
        assumes = [f"`{root}` is computed with the parameters of `{owner}`"] if fact.is_assumed else []
        if fact.is_assumed and m.program.unit in self.shown:
            assumes.append(f"`{self.shown[m.program.unit]}` clears no gradients")
        event = AppliedAgain(
            site=where,
            story=steps,
            root=root,
            owner=owner,
            parameter=str(twice[0].name),
            step=twice[0].step_site,
            assumes=tuple(assumes),
        )
        self.twice.setdefault((id(where.node), owner), (self.as_of_now(event), fact.parameters[0].id))

    def _applied_by_hand(self, leaf: Tensor, site: Site) -> None:
        """An update by hand uses a gradient that an earlier one has used already, with a new one added."""
        where, before = leaf.backward_site, leaf.step_site
        if leaf.grad_state != "mixed":
            return
        steps = (
            StoryStep(before, f"the gradient of `{leaf.name}` is used here", "applied", leaf.name),
            StoryStep(
                where,
                "this backward adds to the gradient, because nothing has cleared it",
                "backward",
                leaf.name,
            ),
            StoryStep(site, "the old gradient is used again together with the new", "applied", leaf.name),
        )
        root, name = places.receiver_text(where), str(leaf.name)
        self.report(AppliedAgain(site=where, story=steps, root=root, owner="", parameter=name, step=before))

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report gradients that are applied twice."""
        for event in self._applied_twice(m):
            self.report(event)

    def _applied_twice(self, m: Interpreter) -> Iterator[AppliedAgain]:
        """Backward calls that add to gradients that a step has applied, and that nothing clears in time.

        Where both the step and a clearing wait for a counter, their conditions decide, which are not
        worked out here.
        """
        for event, number in self.twice.values():
            clears = [clear for (first, _), clear in self.clearings.items() if first == number]
            if event.assumes and event.unit in self.hooked:
                continue
            step = self.steps.get(id(event.step.node))
            if step is None or not any(_both_count(clear, step) for clear in clears):
                yield replace(event, unreached=self._unreached(m, event))

    def _unreached(self, m: Interpreter, event: AppliedAgain) -> Site | None:
        """A call that would clear these gradients, in code that ran, on a line that was never reached."""
        if not m.budget.is_complete or m.program.main is None:
            return None
        module, wanted = event.site.module, f"{event.owner}.zero_grad"
        entered = [f for f in (module.body, *module.functions) if id(f) in m.program.entered]
        blocks = [block for function in entered for block in function.blocks.values()]
        for call in (i for block in blocks for i in block.instrs if isinstance(i, nodes.Call)):
            if id(call) not in self.ran and type(call.node).__name__ == "Call":
                site = Site(module, call.node)
                if places.text_of(site, call.node).partition("(")[0] == wanted:
                    return site
        return None


class NeverCleared(Rule):
    """A backward adds to gradients that a step has already applied.

    ## What it detects

    On some path: backward, step, and then another backward, without clearing the gradients in between
    (`optimizer.zero_grad()`, `model.zero_grad()`, `p.grad = None`, `p.grad.zero_()`, a helper, base
    class or framework that does it). Where in the iteration they are cleared does not matter, and
    several backward calls before one step (gradient accumulation) are fine. An update by hand, and a
    total to which the gradient of an input is added, count as steps; not so what the program adds to
    parameters that an optimizer steps (an attack on the weights, which is taken back). A test's loop
    over data may have one batch, and counts as run once. Nothing is reported in a test, or a function
    that reads a clock or how much memory is taken, that neither shows, checks, keeps nor returns
    anything of what it trains.

    ## Why it is wrong

    `backward` adds to `.grad`. Every step then applies all earlier gradients once more, so the step
    size grows with the number of iterations. Nothing is raised; training is unstable or just worse.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        loss = model(inputs).sum()
        loss.backward()  # <- GL401
        optimizer.step()
        norms.append(model.weight.grad.norm().item())
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        (inputs @ weight).sum().backward()  # <- GL401
        norms.append(weight.grad.norm().item())
        with torch.no_grad():
            weight -= 0.1 * weight.grad
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = model(inputs).sum()
        loss.backward()
        optimizer.step()
        norms.append(model.weight.grad.norm().item())
    ```

    ```python
    import torch

    weight = torch.ones(2, requires_grad=True)
    inputs = torch.ones(4, 2)
    norms = []
    for _ in range(4):
        (inputs @ weight).sum().backward()
        norms.append(weight.grad.norm().item())
        with torch.no_grad():
            weight -= 0.1 * weight.grad
        weight.grad = None
    ```

    ## Fix safety

    Whether the gradients are to be cleared here is for a reader to confirm, so the fix is unsafe. It is
    offered where an optimizer is known.

    ## References

    - [Zeroing out gradients](https://docs.pytorch.org/tutorials/recipes/recipes/zeroing_out_gradients.html)
    - [`torch.optim.Optimizer.zero_grad`](https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
    """

    code = "GL401"
    name = "never-cleared"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "gradients of earlier iterations are applied again"
    symptom = "assert norms[-1] > 3.9 * norms[0]  # the true gradient is the same in every iteration"
    triggers = when.TRAINING

    trackers = (Windows,)

    def on_applied_again(self, event: AppliedAgain) -> Iterator[Violation]:
        message, owner = _message(event), event.owner
        if event.unreached is not None:
            message = f"this line is never reached, so {message}"
            advice = "correct the condition that it depends on"
            yield self.finding(event, message, advice, site=event.unreached)
        else:
            clear = Replacement(event.site, f"{owner}.zero_grad()", insert=True) if owner else None
            fix = self.unsafe_fix("Clear the gradients before backward", clear)
            yield self.finding(event, message, _advice(event), fix=fix)


def _message(event: AppliedAgain) -> str:
    used = "that an earlier step has already applied" if event.owner else "that were already used"
    return (
        f"the backward of `{event.root}` adds to gradients of `{event.owner or event.parameter}` {used}: "
        "nothing clears them in between"
    )


def _advice(event: AppliedAgain) -> str:
    if event.owner:
        return f"call `{event.owner}.zero_grad()` once for every step"
    module = event.parameter.removesuffix("'s parameters")
    if module != event.parameter:
        return f"call `{module}.zero_grad()` once for every update"
    if "(" in event.parameter:
        return "set `.grad = None` when it has been used"
    return f"set `{event.parameter}.grad = None` when it has been used"


def _is_out_of_sight(func: Value) -> bool:
    """Is it a function of which nothing is known?"""
    is_foreign = isinstance(func, LibraryObject) and not func.name.startswith(("torch.", "builtins."))
    return is_foreign or isinstance(func, Symbol)


def _is_empty(method: Func | None) -> bool:
    """Has a method no code?"""
    return method is not None and not any(block.instrs for block in method.function.blocks.values())


def _may_run_once(around: places.Places, where: Site) -> bool:
    """Is it in a test, in a loop over data? There is often one batch of it."""
    in_loop = around.loop_of(where) is not None and places.is_of_tests(where.module)
    return in_loop and not around.counts_rounds(where)


def _only_runs(around: places.Places, where: Site) -> bool:
    """Is it in a test, or a function that measures time or memory, that has no use for what it trains?"""
    function = around.function_of(where)
    if function is None:
        return False
    is_body = function.kind is nodes.FunctionKind.MODULE
    text = where.module.source if is_body else where.module.spans.text(function.node)
    is_run = places.is_of_tests(where.module) or _MEASURES.search(text) is not None
    return is_run and _USES.search(text) is None


def _both_count(clear: LoopWay, step: LoopWay) -> bool:
    """Are both in one loop, each under a modulo test?"""
    loop = common_loop(step, clear)
    return loop is not None and all(way.within(loop).counters for way in (clear, step))
