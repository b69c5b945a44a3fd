"""GL404: an optimizer steps although nothing was ever back-propagated."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gradcheck_tool import (
    Event,
    FunctionBody,
    Interpreter,
    OptimizerStep,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    by_site,
    facts,
    nodes,
    places,
    when,
)

_LOSS = re.compile(r"(?:^|_)loss(?:es)?$")
_OPTIMIZER = re.compile(r"(?:^|[._])opt(?:im(?:izer)?)?(?:_|\d|$)")
# Names of what may store gradients, and of what does not.
_STORES = re.compile(
    r"backward|grad|closure|scaler|accelerat|fabric|engine|strategy|minimi[sz]e|optimi[sz]e_|train_|propagat|"
    r"accumulat|^fit|^learn$"
)
_STORES_NOTHING = re.compile(
    r"(?:zero|no|requires|enable|is|set)_(?:the_)?grads?(?:_enabled)?_?|clip_grad_(?:norm|value)_?|grad_norm"
)
# Names of what computes a loss where nothing of it is in sight, and of what shows one.
_COMPUTES = re.compile(r"loss|criterion|cross_entropy|entropy$|objective")
_SHOWS = re.compile(
    r"^(?:float|print|format|isnan|isfinite|isinf|append)$|log|add_scalar|write|update|set_(?:description|postfix)"
)
_CUTS = frozenset(
    {"cpu", "data", "detach", "dtype", "device", "item", "mean", "numpy", "shape", "sum", "tolist"}
)
# Methods of optimizers, of which a class of the file may have one of the same name.
_OWN = frozenset({"step", "zero_grad"})


@dataclass(slots=True, eq=False, kw_only=True)
class NothingDifferentiated(Event):
    """`optimizer` steps in a function that computes `loss`, and nothing differentiates that."""

    triggers = when.TRAINING

    optimizer: str
    loss: str


class Undifferentiated(Tracker):
    """Reads the functions that step."""

    derives = (NothingDifferentiated,)

    def on_run_ended(self, m: Interpreter, s: State, fact: facts.RunEnded) -> None:
        """Look at each function of the file."""
        functions = {function.name: function for function in fact.module.functions}
        for function in fact.module.functions:
            body = function.worked_out(FunctionBody)
            step = self._stepped(fact.module, body)
            loss = _dropped_loss(body, functions.keys()) if step is not None else ""
            if step is not None and loss and not _may_store(body, functions):
                site = Site(fact.module, step[0].node)
                self.report(NothingDifferentiated(site=site, optimizer=step[1], loss=loss))

    def _stepped(self, module: nodes.ModuleIR, body: FunctionBody) -> tuple[nodes.Call, str] | None:
        """A step of an optimizer whose gradients the same function clears, and the optimizer."""
        cleared = {places.receiver_text(Site(module, call.node)) for call, _ in body.calls("zero_grad")}
        for call, _ in body.calls("step"):
            name = places.receiver_text(Site(module, call.node))
            if name in cleared and _OPTIMIZER.search(name) and not call.args:
                return call, name
        return None


def _may_store(body: FunctionBody, functions: dict[str, nodes.Function]) -> bool:
    """Does a function, or one of the file that it may call, name anything that may store gradients?"""
    seen: set[str] = set()
    todo = [body]
    while todo:
        at = todo.pop()
        for i in at.instrs:
            if not isinstance(i, (nodes.GetAttr, nodes.LoadName, nodes.SetAttr)) or i.name in seen:
                continue
            seen.add(i.name)
            if _STORES.search(i.name) and not _STORES_NOTHING.fullmatch(i.name):
                return True
            if i.name in functions and i.name not in _OWN:
                todo.append(functions[i.name].worked_out(FunctionBody))
    return False


def _dropped_loss(body: FunctionBody, known: Collection[str]) -> str:
    """A variable for a loss that a call computes, and that is shown at most."""
    for name, stores in body.stores.items():
        if _LOSS.search(name) is None or name in body.params:
            continue
        made = [body.made.get(store.src) for store in stores]
        loaded = [i.dst for i in body.instrs if isinstance(i, nodes.LoadName) and i.name == name]
        computed = all(_is_computed(body, i, known) for i in made)
        if computed and all(_is_shown(body, reg, name) for reg in loaded):
            return name
    return ""


def _is_computed(body: FunctionBody, made: nodes.Instr | None, known: Collection[str]) -> bool:
    """Is it the result of a function of the file, or of what computes a loss by its name?"""
    func = body.made.get(made.func) if isinstance(made, nodes.Call) else None
    if not isinstance(func, (nodes.GetAttr, nodes.LoadName)):
        return False
    return func.name in known or _COMPUTES.search(func.name) is not None


def _is_shown(body: FunctionBody, reg: int, name: str) -> bool:
    """Is a value that was loaded cut off from its graph, shown, or returned?"""
    for i in body.instrs:
        if isinstance(i, nodes.GetAttr) and i.obj == reg and i.name not in _CUTS:
            return False
        if isinstance(i, nodes.Call) and any(arg.value == reg for arg in i.args):
            func = body.made.get(i.func)
            if not isinstance(func, (nodes.GetAttr, nodes.LoadName)) or not _SHOWS.search(func.name):
                return False
        if isinstance(i, (nodes.SetAttr, nodes.SetItem)) and i.src == reg:
            return False
        if isinstance(i, nodes.StoreName) and i.src == reg and i.name != name:
            return False
    return True


class StepWithoutGradients(Rule):
    """An optimizer steps on parameters none of which has a gradient.

    ## What it detects

    A `step()` in a loop at which, in every iteration, no parameter of the optimizer has a gradient: the
    step comes before backward and the gradients are cleared after it, or backward never reaches these
    parameters. A step at the top of an iteration that applies the previous one's gradients is fine.
    Also a step in a function that computes a loss, shows or returns it at most, and clears the gradients
    of the same optimizer, where neither the function nor what it calls in the file names a backward.

    ## Why it is wrong

    Parameters without a gradient are skipped. Nothing is raised and nothing is learned.

    ## Example

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(4, 2)).sum()
        optimizer.step()  # <- GL404
        loss.backward()
        optimizer.zero_grad()
    ```

    ## Use instead

    ```python
    import torch

    model = torch.nn.Linear(2, 1)
    start = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.ones(4, 2)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    ```

    ## Fix safety

    There is no fix: the calls have to be reordered.

    ## References

    - [`torch.optim`: taking an optimization step](https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step)
    """

    code = "GL404"
    name = "step-without-gradients"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the parameters do not move"
    symptom = "assert torch.equal(model.weight, start)"
    triggers = when.TRAINING
    trackers = (Undifferentiated,)

    def on_file(self, events: Sequence[Event]) -> Iterator[Violation]:
        for event in events:
            if isinstance(event, NothingDifferentiated):
                yield self.finding(
                    event,
                    f"`{event.optimizer}` steps, but no backward of `{event.loss}` has run",
                    f"call `{event.loss}.backward()` before the step",
                )
        for visits in by_site(events, OptimizerStep).values():
            first = visits[0]
            seen = frozenset().union(*(step.gradients for step in visits))
            repeats = any(step.in_loop for step in visits)
            if repeats and first.gradients == {"none"} and seen <= {"none", "zeroed"}:
                yield self.finding(
                    first,
                    f"`{first.optimizer}` steps although no backward has stored a gradient in its parameters",
                    "call backward before the step",
                )
