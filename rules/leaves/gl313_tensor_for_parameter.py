"""GL313: a module keeps a trainable tensor that is not a Parameter."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard

from gradcheck_tool import (
    Class,
    Event,
    Func,
    FunctionBody,
    Interpreter,
    LibraryObject,
    ModuleAttribute,
    Rule,
    Severity,
    Site,
    State,
    Tracker,
    Trigger,
    Violation,
    facts,
    nodes,
    resolve_import,
)

_MODULE = LibraryObject("torch.nn.Module")
_INIT = LibraryObject("torch.nn.init")
# What makes a tensor without a gradient, and what keeps it one of that kind.
_FACTORIES = frozenset({"FloatTensor", "Tensor", "empty", "ones", "rand", "randn", "zeros"})
_MOVES = frozenset({"cuda", "double", "float", "half", "to"})


@dataclass(slots=True, eq=False, kw_only=True)
class InitialisedTensor(Event):
    """`nn.init` gives a plain tensor in an attribute its first values, and other methods compute with it."""

    triggers = (
        Trigger(
            "init.",
            r"\binit\.\w+_\(\s*self\.\w+|\bself\.\w+ *(?::[^=\n]+)?= *[\w.]*\binit\.\w+_\(",
            callers=False,
        ),
        Trigger(
            "getattr(", r"\bgetattr\(\s*[\w.]*init\w*,", in_file=("nn.init", "import init"), callers=False
        ),
    )

    module: str
    attribute: str


class InitialisedTensors(Tracker):
    """Reads the methods of modules when their classes are defined."""

    derives = (InitialisedTensor,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Which attributes are initialised as weights are, and made as plain tensors alone?"""
        record = s.get(fact.object, Class)
        if record is None or _MODULE not in record.mro:
            return
        funcs = [s.get(value, Func) for value in record.attrs.values()]
        methods = [func.function.worked_out(FunctionBody) for func in funcs if func is not None]
        homes = _homes(m, s, record)
        initialised = [(body, set(_initialised(body, homes))) for body in methods]
        for name in sorted({name for _, names in initialised for name in names}):
            made = _made(methods, name, homes)
            others = [body for body, names in initialised if name not in names and not _stores(body, name)]
            if made is not None and {use for body in others for use in _uses(body, name)} == {"read"}:
                self.report(
                    InitialisedTensor(
                        site=Site(record.env.module, made.node),
                        module=record.name,
                        attribute=name,
                        unless=((record.name, name),),
                    )
                )


def _homes(m: Interpreter, s: State, record: Class) -> frozenset[str]:
    """The names that a file gives `nn.init`."""
    named = {name: value for name, value in s[record.env.globals].locals.items() if "init" in str(name)}
    return frozenset(
        {"init", *(name for name, value in named.items() if resolve_import(m, s, value) == _INIT)}
    )


def _initialised(body: FunctionBody, homes: frozenset[str]) -> Iterator[str]:
    """Attributes that `init.xavier_uniform_(self.w)` and the like are called with, or keep the result of."""
    for i in body.instrs:
        called = body.maker(i.args[0].value) if _initialises(i, body, homes) else None
        if isinstance(called, nodes.GetAttr) and body.source(called.obj) == body.receiver:
            yield called.name
        if isinstance(i, nodes.SetAttr) and _initialises(body.maker(i.src), body, homes):
            yield i.name


def _initialises(i: nodes.Instr | None, body: FunctionBody, homes: frozenset[str]) -> TypeGuard[nodes.Call]:
    """Is it a call of a function of `nn.init`, or of one that `getattr` chooses by its name?"""
    if not isinstance(i, nodes.Call) or not i.args:
        return False
    func = body.maker(i.func)
    if isinstance(func, nodes.Call) and getattr(body.made.get(func.func), "name", "") == "getattr":
        return bool(func.args) and _is_home(body, func.args[0].value, homes)
    return isinstance(func, nodes.GetAttr) and func.name[-1] == "_" and _is_home(body, func.obj, homes)


def _is_home(body: FunctionBody, reg: int, homes: frozenset[str]) -> bool:
    made = body.made.get(reg)
    return isinstance(made, (nodes.GetAttr, nodes.LoadName)) and made.name in homes


def _made(methods: Iterable[FunctionBody], name: str, homes: frozenset[str]) -> nodes.SetAttr | None:
    """Where a plain tensor is stored in an attribute; None where something else may be, or registers it."""
    found = []
    for body in methods:
        if any(isinstance(i, nodes.Const) and i.value == name for i in body.instrs):
            return None
        for store in _stores(body, name):
            if body.source(store.obj) != body.receiver or not _is_plain(body, store.src, homes):
                return None
            found.append(store)
    return found[0] if found else None


def _stores(body: FunctionBody, name: str) -> list[nodes.SetAttr]:
    return [i for i in body.instrs if isinstance(i, nodes.SetAttr) and i.name == name]


def _is_plain(body: FunctionBody, reg: int, homes: frozenset[str]) -> bool:
    """Is it `torch.empty(...)` or the like, on whatever device, without `requires_grad`?"""
    made = body.maker(reg)
    while isinstance(made, nodes.Call):
        if _initialises(made, body, homes):
            made = body.maker(made.args[0].value)
            continue
        func = body.made.get(made.func)
        if not isinstance(func, nodes.GetAttr) or any(arg.name == "requires_grad" for arg in made.args):
            return False
        if func.name in _FACTORIES:
            return body.is_library(func.obj)
        made = body.maker(func.obj) if func.name in _MOVES else None
    return False


def _uses(body: FunctionBody, name: str) -> Iterator[str]:
    """How a method uses an attribute: `read` or `written`."""
    for made in (i for i in body.instrs if isinstance(i, nodes.GetAttr) and i.name == name):
        for use in body.uses(made.dst):
            asked = use.name if isinstance(use, nodes.GetAttr) else ""
            stored = isinstance(use, nodes.SetItem) and use.obj == made.dst
            flag = isinstance(use, nodes.SetAttr) and use.obj == made.dst
            yield "written" if stored or flag or asked == "data" or asked.endswith("_") else "read"


class TensorForParameter(Rule):
    """A module keeps a trainable tensor in an attribute without making it a Parameter.

    ## What it detects

    `self.w = torch.randn(..., requires_grad=True)` in an `nn.Module`, where the tensor is not given to
    an optimizer in another way and no other file of the repository mentions it. The same for a tensor that
    `nn.init` gives its values, as if it were a weight (`self.w = torch.empty(4)`, then
    `nn.init.uniform_(self.w)`; or `self.w = nn.init.uniform_(torch.empty(4))`), if other methods compute
    with it.

    ## Why it is wrong

    `parameters()` lists Parameters only. The tensor collects gradients that nothing applies or clears,
    and stays behind when the module is moved or saved. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = torch.ones(4, requires_grad=True)  # <- GL313

        def forward(self, x):
            return self.factor * x


    model = Scale()
    output = model(torch.randn(2, 4))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.Parameter(torch.ones(4))

        def forward(self, x):
            return self.factor * x


    model = Scale()
    output = model(torch.randn(2, 4))
    ```

    ## References

    - [`torch.nn.parameter.Parameter`](https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html)
    """

    code = "GL313"
    name = "tensor-for-parameter"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the tensor is missing from `parameters()`"
    symptom = "assert not list(model.parameters())"
    trackers = (InitialisedTensors,)

    def on_module_attribute(self, event: ModuleAttribute) -> Iterator[Violation]:
        if event.kind == "tensor":
            yield self.finding(
                event,
                f"`self.{event.attribute}` requires a gradient but is not a Parameter of `{event.module}`, "
                "so nothing "
                "trains it",
                f"use `self.{event.attribute} = nn.Parameter(...)`",
            )

    def on_initialised_tensor(self, event: InitialisedTensor) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`nn.init` gives `self.{event.attribute}` its values, as those of a weight, but it is not a "
            f"Parameter of `{event.module}`: nothing trains, moves or saves it",
            "make it an `nn.Parameter`, or register it as a buffer if it is to stay as it is",
        )
