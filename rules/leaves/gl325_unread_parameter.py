"""GL325: a module has a Parameter that nothing reads."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    LibraryObject,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Violation,
    facts,
    nodes,
    places,
    when,
)

# Methods that give parameters their first values, or print them.
_INITIAL = re.compile(r"__init__|.*(?:init|reset|extra_repr|fill|register).*")
# What is there for optimizers and tests only.
_STANDS_IN = re.compile(r"(?i).*(?:dummy|unused|placeholder|mock|fake|stub).*")
# What may read parameters without naming them.
_ALL = frozenset({"__dict__", "_parameters", "parameters", "named_parameters", "state_dict"})


@dataclass(slots=True, eq=False, kw_only=True)
class ParameterUnread(Event):
    """A module makes a Parameter that only its initialisation mentions, in the whole file."""

    triggers = (when.MODULE_PARAMETER,)

    module: str
    attribute: str


class ParameterReads(Tracker):
    """Reads the classes of modules when they are defined."""

    derives = (ParameterUnread,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read a class that derives from nothing but `nn.Module`."""
        record = s.get(fact.object, Class)
        if record is None or record.mro[1:] != (LibraryObject("torch.nn.Module"),):
            return
        # A module of a test may need some Parameter to be taken for one.
        if places.is_of_tests(record.env.module):
            return
        found = {name: s.get(value, Func) for name, value in record.attrs.items()}
        methods = {
            name: func.function.worked_out(FunctionBody) for name, func in found.items() if func is not None
        }
        if not {"__init__", "forward"} <= methods.keys() or _STANDS_IN.fullmatch(record.name):
            return
        for name, node in _unread(methods, record.env.module.source):
            site = Site(record.env.module, node)
            unless = ((record.name, name),)
            self.report(ParameterUnread(site=site, module=record.name, attribute=name, unless=unless))


class UnreadParameter(Rule):
    """A module makes a Parameter that its forward does not use.

    ## What it detects

    `self.name = nn.Parameter(...)` in the constructor of an `nn.Module`, where nothing in the
    repository but the module's own initialisation mentions `name`. Modules of tests, and Parameters that
    the initialisation takes away again (`self.name = None`), are not reported.

    ## Why it is wrong

    The Parameter never gets a gradient: what it was made to learn stays as it is, often because forward
    uses the number that it was initialised with. With DistributedDataParallel the second iteration
    raises.

    ## Example

    ```python
    import torch
    from torch import nn


    class Normalize(nn.Module):
        def __init__(self, channels, scale):
            super().__init__()
            self.scale = scale
            self.weight = nn.Parameter(torch.empty(channels))  # <- GL325
            self.weight.data.fill_(scale)

        def forward(self, x):
            return self.scale * x / x.norm(dim=1, keepdim=True)


    layer = Normalize(3, 20.0)
    net = nn.Sequential(nn.Linear(3, 3), layer)
    net(torch.ones(2, 3)).sum().backward()
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Normalize(nn.Module):
        def __init__(self, channels, scale):
            super().__init__()
            self.scale = scale
            self.weight = nn.Parameter(torch.empty(channels))
            self.weight.data.fill_(scale)

        def forward(self, x):
            return self.weight * x / x.norm(dim=1, keepdim=True)


    layer = Normalize(3, 20.0)
    net = nn.Sequential(nn.Linear(3, 3), layer)
    net(torch.ones(2, 3)).sum().backward()
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL325"
    name = "unread-parameter"
    severity = Severity.WARNING
    effect = "silent"
    predicts = "the parameter gets no gradient"
    symptom = "assert layer.weight.grad is None"
    trackers = (ParameterReads,)

    def on_parameter_unread(self, event: ParameterUnread) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"nothing reads the Parameter `{event.attribute}` of `{event.module}`: it gets no gradient",
            "use it in forward, or make it a buffer, or remove it",
        )


def _attributes(body: FunctionBody) -> list[str]:
    """The names of all attributes that a function reads or writes."""
    return [i.name for i in body.function.instructions() if isinstance(i, (nodes.GetAttr, nodes.SetAttr))]


def _shared(body: FunctionBody) -> set[str]:
    """The attributes that a function stores elsewhere, or in what it makes for that, or adds to a list.

    `self.decoder.bias = self.bias`, `self.cell = Cell(scale=self.scale)`, `self.all = [self.scale]`.
    """
    stored = [i.src for i in body.instrs if isinstance(i, (nodes.SetAttr, nodes.SetItem))]
    stored += [arg.value for call, _ in body.calls("append") for arg in call.args]
    behind = (i for reg in stored for i in body.behind(reg, lambda made: isinstance(made, nodes.GetAttr)))
    return {i.name for i in behind if isinstance(i, nodes.GetAttr)}


def _unread(methods: Mapping[str, FunctionBody], source: str) -> Iterator[tuple[str, Any]]:
    """Parameters that the constructor makes and nothing in the file but their initialisation mentions."""
    initial = [body for name, body in methods.items() if _INITIAL.fullmatch(name) and not _gives(body)]
    later = [body for body in methods.values() if body not in initial]
    read = {name for body in later for name in _attributes(body)}
    read |= {name for body in initial for name in _shared(body)}
    read |= {name for body in initial for name in _taken_away(body)}
    if read & _ALL or not _computes(methods["forward"]):
        return
    for name, node in _made(methods["__init__"]):
        own = sum(_attributes(body).count(name) for body in initial)
        spelt = len(re.findall(rf"\.{re.escape(name)}\b", source))
        quoted = re.search(rf"[\"'](?:[\w.]*\.)?{re.escape(name)}[\"']", source)
        if name not in read and spelt == own and quoted is None and not _STANDS_IN.fullmatch(name):
            yield name, node


def _made(body: FunctionBody) -> Iterator[tuple[str, Any]]:
    """The attributes of `self` that a constructor gives a Parameter that is to be trained."""
    for i in body.instrs:
        if not isinstance(i, nodes.SetAttr) or body.source(i.obj) != body.receiver:
            continue
        made = body.maker(i.src)
        func = body.maker(made.func) if isinstance(made, nodes.Call) else None
        named = func.name if isinstance(func, (nodes.GetAttr, nodes.LoadName)) else ""
        frozen = isinstance(made, nodes.Call) and any(arg.name == "requires_grad" for arg in made.args)
        if named == "Parameter" and not frozen and body.params:
            yield i.name, i.node


def _taken_away(body: FunctionBody) -> Iterator[str]:
    """The attributes that a function sets to None or deletes: a Parameter of such a name is gone."""
    for i in body.instrs:
        if isinstance(i, nodes.DelAttr):
            yield i.name
        elif isinstance(i, nodes.SetAttr):
            made = body.maker(i.src)
            if isinstance(made, nodes.Const) and made.value is None:
                yield i.name


def _gives(method: FunctionBody) -> bool:
    """Does it return a value? What only initialises does not."""
    return any(end.value is not None for end in method.returns())


def _computes(forward: FunctionBody) -> bool:
    """Does it return something that it has computed? An interface does not."""
    return any(end.value is not None and forward.maker(end.value) is not None for end in forward.returns())
