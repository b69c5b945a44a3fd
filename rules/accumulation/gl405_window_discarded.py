"""GL405: gradients are cleared in every iteration while the optimizer steps in every k-th."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    Event,
    FunctionBody,
    Interpreter,
    LoopWay,
    Rule,
    RunNote,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    common_loop,
    facts,
    loop_way,
    nodes,
    places,
    when,
)


@dataclass(slots=True, eq=False, kw_only=True)
class WindowDiscarded(Event):
    """Gradients are cleared in every iteration, but the optimizer steps in every k-th only.

    The site is the clearing call; `condition` is the text of the modulo test on a counter that guards
    the step, in the same loop, or empty where the step follows the loop, in each round of one around it.
    All gradients but the last iteration's of a window are discarded.
    """

    triggers = when.TRAINING

    target: str
    optimizer: str
    condition: str


@dataclass(slots=True, eq=False, kw_only=True)
class BatchDiscarded(Event):
    """A function without a loop clears gradients and back-propagates, and steps when a counter says so.

    Whoever calls it calls it with batch after batch. `condition` is the modulo test that the step waits for.
    """

    triggers = when.TRAINING

    optimizer: str
    condition: str


class DiscardedWindows(Tracker):
    """Notes where gradients are discarded, where they are applied and which backward they came from.

    The parameters of an optimizer or a module are known by the first of them.
    """

    derives = (WindowDiscarded,)
    # By parameter and place: clearings in loops that throw gradients away, and steps with their backward.
    losses = RunNote[tuple[int, int], tuple[LoopWay, str]]()
    steps = RunNote[tuple[int, int], tuple[LoopWay, LoopWay, str]]()
    # By place.
    backwards = RunNote[int, LoopWay]()
    # The program reads the `.grad` of something, which a step need not apply then.
    looked_at = False

    def on_taken(self, m: Interpreter, s: State, fact: facts.Taken) -> None:
        """Does the program look at gradients itself?"""
        self.looked_at = self.looked_at or fact.by == "grad"

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Remember where gradients are discarded in a loop."""
        if fact.parameters and fact.is_fresh:
            way = loop_way(m.places, s, fact.site)
            if way is not None:
                self.losses[fact.parameters[0].id, id(fact.site.node)] = (way, fact.target)

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """Remember how a loop leads to a backward."""
        way = loop_way(m.places, s, fact.run.site)
        if way is not None:
            self.backwards[id(fact.run.site.node)] = way

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Remember where gradients are applied in a loop."""
        params = [p for p in fact.parameters if s[p].grad_state in ("fresh", "mixed", "scaled")]
        way = loop_way(m.places, s, fact.site) if params else None
        site = s[params[0]].backward_site if params else None
        backward = self.backwards.get(id(site.node)) if site is not None else None
        if way is not None and backward is not None:
            self.steps[params[0].id, id(fact.site.node)] = (way, backward, fact.name)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Report windows that are discarded."""
        for event in self._discarded():
            self.report(event)

    def _discarded(self) -> Iterator[WindowDiscarded]:
        """Clearings in every iteration of a loop of which only every k-th steps."""
        for (number, _), (clear, target) in self.losses.items():
            steps = [step for (first, _), step in self.steps.items() if first == number]
            conditions = [_guard(clear, step, back) for step, back, _ in steps]
            found = [condition for condition in conditions if condition is not None]
            if found and all(found):
                yield WindowDiscarded(
                    site=clear.site, target=target, optimizer=steps[0][2], condition=found[0]
                )
            elif not found and not self.looked_at:
                after = [name for step, back, name in steps if _steps_after(clear, step, back)]
                if after and len(after) == len(steps):
                    yield WindowDiscarded(site=clear.site, target=target, optimizer=after[0], condition="")


def _steps_after(clear: LoopWay, step: LoopWay, backward: LoopWay) -> bool:
    """Does a loop clear and add gradients in all of its rounds, and the loop around it step after it?"""
    inner, outer = common_loop(clear, backward), step.loops[0]
    if inner is None or type(inner.node).__name__ != "For" or _may_end(inner.node):
        return False
    if not (clear.is_within(outer) and backward.is_within(outer)) or outer is inner:
        return False
    ways = [way.within(inner) for way in (clear, backward)]
    starts = clear.within(outer).precedes(step.within(outer))
    return not ways[0].branches and ways[0].precedes(ways[1]) and starts


def _may_end(loop: Any) -> bool:
    """May a loop end before it has gone through everything?"""
    return type(loop).__name__ in ("Break", "Return", "Raise") or any(map(_may_end, loop.children))


def _guard(clear: LoopWay, step: LoopWay, backward: LoopWay) -> str | None:
    """The modulo test that guards the step but neither the backward nor the clearing; '' if there is none.

    None where the step is not in the innermost loop around the clearing and the backward. A loop around the
    step alone is one that the clearing is in as well, such as one over call-backs.
    """
    loop = common_loop(clear, backward)
    if loop is None or not step.is_within(loop):
        return None
    clear, step, backward = (way.within(loop) for way in (clear, step, backward))
    tests = [test for test in step.counters if not backward.passes(test)]
    own = clear.counters
    if not tests or len(own) != len(clear.branches) or not step.iterated() <= clear.iterated():
        return ""
    condition = step.condition_of(tests[0])
    if own and not (clear.condition_of(own[0]) == condition and clear.precedes(backward)):
        return ""
    return condition


class BatchUnits(Tracker):
    """A clearing, a backward and a step in one function without a loop, where the step alone waits."""

    derives = (BatchDiscarded,)
    callees = frozenset({"zero_grad"})

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Is it a clearing in such a function?"""
        function = places.running_function(s)
        if function.loops or function.kind is not nodes.FunctionKind.FUNCTION:
            return
        func = getattr(fact.instr.node, "func", None)
        name = getattr(getattr(func, "attr", None), "value", "")
        if name != "zero_grad" or not self.once(id(fact.instr)):
            return
        site = m.site(s, fact.instr.node)
        waiting = _Unit(function, site, places.receiver_text(site)).condition(fact.instr)
        if waiting:
            self.report(BatchDiscarded(site=site, optimizer=places.receiver_text(site), condition=waiting))


class WindowOfGradientsDiscarded(Rule):
    """Accumulated gradients are discarded before the step that should apply them.

    ## What it detects

    A loop in which the step is guarded by a modulo test of a counter (gradient accumulation), while the
    gradients are cleared in every iteration. Also a loop over the parts of a window that clears in every
    iteration, where the step follows that loop.

    ## Why it is wrong

    Only the last micro-batch of each window contributes to the step; the others are computed for
    nothing. Nothing is raised.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = [torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)]
    for i, batch in enumerate(batches):
        optimizer.zero_grad()  # <- GL405
        loss = model(batch).sum() / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
    ```

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(2):
        for batch in (torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)):
            optimizer.zero_grad()  # <- GL405
            loss = model(batch).sum() / 3
            loss.backward()
        optimizer.step()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1, bias=False)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    batches = [torch.ones(1, 2), torch.ones(1, 2), torch.ones(1, 2), torch.zeros(1, 2)]
    for i, batch in enumerate(batches):
        loss = model(batch).sum() / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    ```

    ## Fix safety

    There is no fix: the clearing call may serve other branches as well.

    ## References

    - [Gradient accumulation](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
    """

    code = "GL405"
    name = "window-discarded"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "only the last micro-batch of each window is applied"
    symptom = "assert torch.equal(model.weight, start)  # the last micro-batch alone has a zero gradient"
    trackers = (BatchUnits, DiscardedWindows)

    def on_window_discarded(self, event: WindowDiscarded) -> Iterator[Violation]:
        when = f"only when `{event.condition}`" if event.condition else "after the loop"
        where = "right after the step, under the same condition" if event.condition else "before the loop"
        yield self.finding(
            event,
            f"gradients of `{event.target}` are cleared in every iteration, but `{event.optimizer}` steps "
            f"{when}: all but the last iteration's are discarded",
            f"clear {where}",
        )

    def on_batch_discarded(self, event: BatchDiscarded) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"gradients of `{event.optimizer}` are cleared for every batch, but it steps only when "
            f"`{event.condition}`: those of all batches but the last are discarded",
            "clear right after the step, under the same condition",
        )


class _Unit:
    """The ways through a function, between calls that are known by their text."""

    def __init__(self, function: nodes.Function, site: Site, optimizer: str) -> None:
        self._function = function
        self._body = function.worked_out(FunctionBody)
        self._site = site
        self._optimizer = optimizer

    def condition(self, clear: nodes.Call) -> str:
        """The modulo test that all steps after a clearing wait for, and no backward between them does."""
        at = self._block_of(clear)
        later = self._reached(at)
        backwards = [b for b in self._blocks("backward(") if b in later and b not in self._before(clear, b)]
        steps = [b for b in self._blocks("step(") if b in later]
        for end in self._branches().values():
            if self._counter(end) is None or not steps or not backwards:
                continue
            tests = self._alternatives(end.then)
            without = self._reached(self._function.entry, frozenset(tests))
            if not any(b in without for b in steps) and all(b in without for b in (at, *backwards)):
                texts = [places.text_of(self._site, made.node) for made in tests.values()]
                return "" if self._waits(at, backwards) else " or ".join(texts)
        return ""

    def _alternatives(self, body: int) -> dict[int, nodes.Instr]:
        """The tests that lead to a body, by their blocks: a modulo test, `or` comparisons with a number."""
        tests = {}
        for id_, end in self._branches().items():
            made = self._body.maker(end.condition)
            is_last = isinstance(made, nodes.Compare) and made.op in ("==", ">=")
            if made is not None and end.then == body and (is_last or self._counter(end)):
                tests[id_] = made
        return tests

    def _branches(self) -> dict[int, nodes.Branch]:
        ends = {block.id: block.terminator for block in self._function.blocks.values()}
        return {id_: end for id_, end in ends.items() if isinstance(end, nodes.Branch)}

    def _waits(self, at: int, backwards: list[int]) -> bool:
        """Does the clearing wait for a test that a backward does not wait for?"""
        entry = self._function.entry
        reached = [self._reached(entry, frozenset({block})) for block in self._branches()]
        return any(at not in without and any(b in without for b in backwards) for without in reached)

    def _before(self, clear: nodes.Call, block: int) -> set[int]:
        """The block itself, if its backward comes before the clearing."""
        instrs = self._function.blocks[block].instrs
        calls = [i for i in instrs if isinstance(i, nodes.Call)]
        texts = [self._text(i) for i in calls[: calls.index(clear)]] if clear in calls else []
        return {block} if any("backward(" in text for text in texts) else set()

    def _text(self, call: nodes.Call) -> str:
        return places.text_of(self._site, call.node) if type(call.node).__name__ == "Call" else ""

    def _blocks(self, part: str) -> list[int]:
        """The blocks with a call that has a text; a step is one of this optimizer, or of a scaler for it."""
        found = []
        for block in self._function.blocks.values():
            texts = [self._text(i) for i in block.instrs if isinstance(i, nodes.Call)]
            if part == "step(":
                of_it = (f"{self._optimizer}.step(", f".step({self._optimizer}")
                texts = [text for text in texts if text.startswith(of_it[0]) or of_it[1] in text]
            if any(part in text for text in texts):
                found.append(block.id)
        return found

    def _block_of(self, call: nodes.Call) -> int:
        return next(block.id for block in self._function.blocks.values() if call in block.instrs)

    def _reached(self, start: int, closed: frozenset[int] = frozenset()) -> set[int]:
        """The blocks that a way leads to; those into the body of a test at the end of `closed` are closed."""
        seen: set[int] = set()
        todo = [start]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            end = self._function.blocks[at].terminator
            if isinstance(end, nodes.Branch):
                todo += [end.otherwise] if at in closed else [end.then, end.otherwise]
            elif isinstance(end, nodes.Jump):
                todo.append(end.target)
        return seen

    def _counter(self, branch: nodes.Branch) -> nodes.Instr | None:
        """The instruction that makes the condition, where that is a modulo test."""
        made = self._body.maker(branch.condition)
        side = self._body.maker(made.left) if isinstance(made, nodes.Compare) else made
        is_modulo = isinstance(side, nodes.BinOp) and side.op == "%"
        return made if is_modulo else None
