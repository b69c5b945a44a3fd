"""GL327: a layer is made in forward."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
    when,
)

MODULE = LibraryObject("torch.nn.Module")
# What is trained. The layers that normalise begin as functions without parameters, and some use them so.
_TRAINED = frozenset(
    {
        "Bilinear",
        "Embedding",
        "EmbeddingBag",
        "GRU",
        "GRUCell",
        "LSTM",
        "LSTMCell",
        "Linear",
        "RNN",
        "RNNCell",
    }
    | {f"{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)}
    | {"MultiheadAttention", "Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer"}
)
# What returns the layer that it is called on.
_SAME = frozenset({"cpu", "cuda", "double", "float", "half", "to", "train"})
# Forwards that compute with what they do not train.
_EXCUSES = frozenset(
    {"eval", "inference_mode", "load_state_dict", "no_grad", "requires_grad", "requires_grad_", "weight"}
)


@dataclass(slots=True, eq=False, kw_only=True)
class LayerMade(Event):
    """The `forward` of a module makes a layer, calls it and forgets it."""

    triggers = (when.LAYER_IN_FORWARD,)

    module: str
    layer: str


class LayersMade(Tracker):
    """Reads the `forward` of modules when their classes are defined."""

    derives = (LayerMade,)

    def on_object_made(self, m: Interpreter, s: State, fact: facts.ObjectMade) -> None:
        """Read a class that derives from `nn.Module`."""
        record = s.get(fact.object, Class)
        if record is None or MODULE not in record.mro:
            return
        func = s.get(record.attrs.get("forward"), Func)
        body = func.function.worked_out(FunctionBody) if func is not None else None
        if body is None or any(isinstance(i, nodes.GetAttr) and i.name in _EXCUSES for i in body.instrs):
            return
        for made in body.instrs:
            if not isinstance(made, nodes.Call) or _of_torch(record, body, made.func) not in _TRAINED:
                continue
            if _is_called_alone(record, body, made.dst):
                site = Site(record.env.module, made.node)
                self.report(LayerMade(site=site, module=record.name, layer=str(m.label(s, made.node))))


class LayerMadeInForward(Rule):
    """A layer is made in each call of `forward`.

    ## What it detects

    A `forward` of an `nn.Module` that makes a layer with parameters, calls it and keeps it nowhere:
    `nn.Linear(3, 4)(x)`.

    ## Why it is wrong

    Each call makes new random weights, which no optimizer has: the layer is never trained, and the network
    computes something else each time. Nothing is raised.

    ## Example

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            hidden = nn.Linear(3, 4)(x)  # <- GL327
            return self.last(hidden.relu())


    net = Net()
    x = torch.ones(2, 3)
    changes = not torch.equal(net(x), net(x))
    ```

    ## Use instead

    ```python
    import torch
    from torch import nn


    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            hidden = self.first(x)
            return self.last(hidden.relu())


    net = Net()
    x = torch.ones(2, 3)
    changes = not torch.equal(net(x), net(x))
    ```

    ## References

    - [Modules](https://docs.pytorch.org/docs/stable/notes/modules.html)
    """

    code = "GL327"
    name = "layer-made-in-forward"
    severity = Severity.ERROR
    effect = "silent"
    predicts = "the layer is never trained"
    symptom = "assert changes"
    trackers = (LayersMade,)

    def on_layer_made(self, event: LayerMade) -> Iterator[Violation]:
        yield self.finding(
            event,
            f"`{event.layer}` is created again in every call of `{event.module}.forward`: its weights are "
            "random each time, and no optimizer has them",
            "create it in `__init__` and keep it in an attribute",
        )


def _name(body: FunctionBody, reg: int) -> str:
    """The dotted name that a register was loaded by; empty where it was not, or is a local variable's."""
    made = body.made.get(reg)
    if isinstance(made, nodes.GetAttr):
        owner = _name(body, made.obj)
        return f"{owner}.{made.name}" if owner else ""
    return made.name if isinstance(made, nodes.LoadName) and made.scope is not nodes.Scope.LOCAL else ""


def _of_torch(record: Class, body: FunctionBody, reg: int) -> str:
    """The name of a class of `torch.nn` that a register holds; empty for all else."""
    library, _, name = _name(body, reg).rpartition(".")
    imported = rf"from torch\.nn import (?:\([^)]*|[^\n]*)\b{name}\b"
    is_bare = not library and name and re.search(imported, record.env.module.source) is not None
    return name if is_bare or library in ("nn", "torch.nn") else ""


def _is_called_alone(record: Class, body: FunctionBody, reg: int) -> bool:
    """Is a layer called, and neither kept nor passed on?"""
    called = False
    todo, seen = [reg], set[int]()
    while todo:
        layer = todo.pop()
        if layer in seen:
            continue
        seen.add(layer)
        for use in body.uses(layer):
            if isinstance(use, nodes.Call) and use.func == layer:
                called = True
            elif isinstance(use, nodes.Call) and _of_torch(record, body, use.func) == "Sequential":
                todo.append(use.dst)
            elif isinstance(use, nodes.GetAttr) and use.name in _SAME:
                todo += [call.dst for call in body.uses(use.dst) if isinstance(call, nodes.Call)]
            elif isinstance(use, nodes.StoreName) and use.name not in body.params and not use.augmented:
                todo += [i.dst for i in body.instrs if isinstance(i, nodes.LoadName) and i.name == use.name]
            else:
                return False
    return called
