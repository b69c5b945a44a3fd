"""GL106: a method that is to cut the states of a module off from their graphs forgets one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Trigger,
    Value,
    Violation,
    facts,
    function_of,
    nodes,
)

_CUTS = re.compile(r"(?:^|_)(?:detach|repackage|truncate)(?:_|$)")
# Methods that put states back to where they begin, or make the object.
_BEGINS = re.compile(r"(?:^|_)(?:init|reset|clear|zero|begin|start|build|make|create)")
# What is called so has no graph.
_PLAIN = re.compile(
    r"(?:^|_)(?:actions?|tokens?|masks?|index|idx|ids?|steps?|count(?:er)?|dones?|rewards?|t|i|n|size|lengths?|labels?)"
    r"(?:_|$)"
)


@dataclass(slots=True, eq=False, kw_only=True)
class StateNotDetached(Event):
    """`method` detaches the state `detached`, and not `forgotten`, which is computed along with it."""

    triggers = (Trigger("detach", r"def \w*(?:detach|repackage|truncate)", callers=False),)

    method: str
    detached: str
    forgotten: str


class DetachedStates(Tracker):
    """Reads the methods of classes that keep states between calls."""

    derives = (StateNotDetached,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """A class is defined: does one of its methods detach some of its states, and leave others?"""
        record = s.get(fact.object, Class)
        if record is None:
            return
        cutting = [name for name in record.attrs if _CUTS.search(name)]
        if not cutting:
            return
        methods = {name: body for name, value in record.attrs.items() if (body := _body(s, value))}
        for name, body in ((name, methods[name]) for name in cutting if name in methods):
            for node, detached, forgotten in _forgotten(methods, body):
                self.report(
                    StateNotDetached(
                        site=Site(record.env.module, node),
                        method=f"{record.name}.{name}",
                        detached=detached,
                        forgotten=forgotten,
                    )
                )


def _body(s: State, value: Value) -> FunctionBody | None:
    """The code of a method, a class method or a static method."""
    func = s.get(function_of(s, value), Func)
    return func.function.worked_out(FunctionBody) if func is not None else None


def _forgotten(methods: dict[str, FunctionBody], cutting: FunctionBody) -> Iterator[tuple[object, str, str]]:
    """Where a state is detached, which it is, and a state that belongs to it and that is not mentioned."""
    working = [body for name, body in methods.items() if not _CUTS.search(name) and not _BEGINS.search(name)]
    handled = {i.name for i in cutting.instrs if isinstance(i, (nodes.GetAttr, nodes.SetAttr))}
    handled |= {name for body in working for name in _detached(body)}
    if any(name in methods for name in handled - {"detach", "detach_"}):
        return  # it leaves the work to another method
    kept = {name for body in working for name in _bound(body)} & {n for b in working for n in _read(b)}
    pairs = [pair for body in methods.values() for pair in _bound_together(body)]
    for name, node in _detached(cutting).items():
        for one, other in pairs if name in kept else ():
            rest = {one, other} - {name}
            if name in (one, other) and rest <= kept - handled and not any(map(_PLAIN.search, rest)):
                yield node, name, rest.pop()
                return


def _is_self(body: FunctionBody, reg: int) -> bool:
    return body.source(reg) == body.receiver


def _bound(body: FunctionBody) -> set[str]:
    return {i.name for i in body.instrs if isinstance(i, nodes.SetAttr) and _is_self(body, i.obj)}


def _read(body: FunctionBody) -> set[str]:
    return {i.name for i in body.instrs if isinstance(i, nodes.GetAttr) and _is_self(body, i.obj)}


def _bound_together(body: FunctionBody) -> Iterator[tuple[str, str]]:
    """Attributes that one assignment binds to the parts of one result: `self.h, self.c = ...`."""
    parts: dict[int, list[str]] = {}
    for i in body.instrs:
        made = body.made.get(i.src) if isinstance(i, nodes.SetAttr) and _is_self(body, i.obj) else None
        if isinstance(i, nodes.SetAttr) and isinstance(made, nodes.Unpack):
            parts.setdefault(id(made), []).append(i.name)
    for names in parts.values():
        yield from ((one, other) for one in names for other in names if one < other)


def _detached(body: FunctionBody) -> dict[str, object]:
    """The attributes that are detached, of whatever object, and where."""
    found: dict[str, object] = {}
    for name in ("detach", "detach_"):
        for call, func in body.calls(name):
            owner = body.maker(func.obj)
            if isinstance(owner, nodes.GetAttr):
                found.setdefault(owner.name, call.node)
    return found


class StateNotDetachedRule(Rule):
    """One of several states that belong together keeps the graph of earlier steps.

    ## What it detects

    A method called `detach...`, `repackage...` or `truncate...` that detaches one attribute but not
    another that is always assigned together with it (`self.hidden, self.cell = self.core(...)`),
    where other methods read both and assign them again.

    ## Why it is wrong

    In truncated backpropagation through time, the states are detached after each backward. A state
    that keeps its graph leads the next backward into the graph of the last one, which has been
    freed, and PyTorch raises; with `retain_graph=True` each step goes back to the very beginning.

    ## Example

    ```python
    import torch
    from torch import nn


    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.core = nn.LSTMCell(2, 2)
            self.hidden, self.cell = torch.zeros(1, 2), torch.zeros(1, 2)

        def forward(self, x):
            self.hidden, self.cell = self.core(x, (self.hidden, self.cell))
            return self.hidden

        def detach_states(self):
            self.hidden = self.hidden.detach()  # <- GL106


    reader = Reader()
    for _ in range(2):
        reader(torch.ones(1, 2)).sum().backward()  # <- raises
        reader.detach_states()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.core = nn.LSTMCell(2, 2)
            self.hidden, self.cell = torch.zeros(1, 2), torch.zeros(1, 2)

        def forward(self, x):
            self.hidden, self.cell = self.core(x, (self.hidden, self.cell))
            return self.hidden

        def detach_states(self):
            self.hidden = self.hidden.detach()
            self.cell = self.cell.detach()


    reader = Reader()
    for _ in range(2):
        reader(torch.ones(1, 2)).sum().backward()
        reader.detach_states()
    ```

    ## References

    - [`torch.Tensor.detach`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html)
    """

    code = "GL106"
    name = "state-not-detached"
    severity = Severity.ERROR
    predicts = "Trying to backward through the graph a second time"
    trackers = (DetachedStates,)

    def on_state_not_detached(self, event: StateNotDetached) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.method}` detaches `{event.detached}` and leaves `{event.forgotten}`, whose graph goes "
            "back to earlier steps",
            f"detach `{event.forgotten}`, too",
        )
