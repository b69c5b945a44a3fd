"""What an unknown callee may have done: everything reachable from its arguments becomes unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.read_tracking import ReadTrackingHeap
from gradcheck_tool.domain.records import Dict, Instance, Iter, List
from gradcheck_tool.domain.values import Bound, LibraryObject, Method, Partial, Ref, Tup, Value, unknown
from gradcheck_tool.engine.expected import doubt_gradient, is_expected
from gradcheck_tool.engine.tensors import numel_is_one

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradcheck_tool.domain.state import State


def reachable(s: State, values: Iterable[Value]) -> list[Ref]:
    """Everything that can be reached from the values through containers, attributes and closures."""
    seen: dict[int, Ref] = {}
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, Tup):
            todo.extend(value.items)
        elif isinstance(value, (Bound, Method)):
            todo.append(value.receiver)
        elif isinstance(value, Partial):
            todo += [value.func, *value.args, *(v for _, v in value.kwargs)]
        elif isinstance(value, Ref) and value.id not in seen:
            seen[value.id] = value
            todo += _parts(s, value)
    return list(seen.values())


def _parts(s: State, ref: Ref) -> list[Value]:
    record = s.heap[ref.id]
    if isinstance(record, List):
        return list(record.items)
    if isinstance(record, Dict):
        return [*record.items, *record.items.values()]
    if isinstance(record, Instance):
        return list(record.attrs.values())
    if isinstance(record, Iter):
        return list(record.parts)
    if isinstance(record, Tensor) and record.base is not None:
        return [record.base]
    return []


# Names of functions that are given a module to freeze, train or write to its parameters.
_CHANGES_LAYERS = re.compile(
    r"adapter|freez|froz|grad|inject|lora|peft|train|tun|eval|prun|quant|_$", re.IGNORECASE
)
# Names of methods by which a module freezes parameters of its own, or puts others in their place.
_CHOOSES_LAYERS = re.compile(r"adapter|freez|froz|inject|lora|peft|prun|quant", re.IGNORECASE)
# Names of call-backs, which are told what happens.
_IS_TOLD = re.compile(r"^(?:on|before|after)_|_(?:begin|start|end|finish(?:ed)?)$")
# Names of functions that only look at a module, compute a loss with it or clip its gradients.
_LOOKS = re.compile(
    r"clip|loss|(?:^|_)log|norm|metric|accura|summar|print|plot|save|stat|eval|valid", re.IGNORECASE
)
# Names of functions that write down what a module is; those that let it compute may switch its mode.
_WRITES_DOWN = re.compile(r"(?:^|_)(?:save|store|dump|log|print|checkpoint|ckpt|count|summar)", re.IGNORECASE)
_LETS_COMPUTE = re.compile(r"eval|valid|test|sampl|infer|predict|generat|imag|load|score", re.IGNORECASE)
_TRAINS = re.compile(
    r"train|step|updat|optim|attack|adv|fit|froz|freez|prun|quant|learn|back|zero|reset|(?<!lo)load|normali",
    re.IGNORECASE,
)
# Names of functions that clear gradients.
_CLEARS = re.compile(r"(?:zero|clear|reset)_?(?:the_)?grad", re.IGNORECASE)
# What tells a callee how to differentiate.
_OF_BACKWARD = frozenset({"retain_graph", "create_graph"})


def may_change_layers(name: str) -> bool:
    """Does the name of a callee say that it freezes parameters or writes to them?

    A factory is given a module to wrap it or to hand its parameters on, a call-back to look at it.
    """
    if _CHANGES_LAYERS.search(name) is None or _IS_TOLD.search(name) is not None:
        return False
    return not ("clip" in name.lower() and only_looks(name))


def chooses_layers(name: str) -> bool:
    """Does the name of a method say that the object decides which of its parameters are trained?"""
    return _CHOOSES_LAYERS.search(name) is not None


def only_looks(name: str) -> bool:
    """Does the name of a callee say that it looks at a module, and nothing that it trains it?"""
    return _LOOKS.search(name) is not None and _TRAINS.search(name) is None


def only_writes_down(name: str) -> bool:
    """Does the name of a callee say that it writes down what a module is, and does not let it compute?"""
    is_alone = _LETS_COMPUTE.search(name) is None and _TRAINS.search(name) is None
    return is_alone and _WRITES_DOWN.search(name) is not None


def havoc(
    s: State,
    values: Iterable[Value],
    *,
    keeps_layers: bool = False,
    keeps_gradients: bool = False,
    keeps_modes: bool = False,
) -> None:
    """Forget what an unknown callee that got these values may have changed.

    One that `keeps_layers` leaves what is trained, numbers of layers and the parameters of optimizers as they
    are; the gradients that have accumulated it may still use or clear. Of one that `keeps_gradients` they are
    expected to be as before. One that `keeps_modes`, too, neither calls `train()` nor `eval()`.

    It may have run a backward (graphs freed, gradients there), stepped or cleared, replaced attributes,
    frozen parameters, written to tensors. What cannot change stays: which class an object has.
    """
    given = list(values)
    roots = reachable(s, given)
    kept = _groups(s, given) if keeps_layers and _optimizers(s, roots) else frozenset()
    for ref in roots:
        record = s.heap[ref.id]
        if ref.id in kept:
            continue
        if isinstance(record, Tensor):
            is_trained = record.is_param or (record.leaf and record.requires_grad)
            if is_trained and keeps_layers and keeps_gradients and record.grad_state != "none":
                doubt_gradient(s, ref)
            elif is_trained and keeps_layers:
                _gradient(s, ref)
            else:
                _tensor(s, ref, is_given=ref in given)
        elif isinstance(record, (List, Dict)):
            s.edit(ref).open = True
        elif isinstance(record, Instance) and not _is_module_frame(record):
            _attributes(s, ref, changed=not keeps_layers, keeps_modes=keeps_modes)


def _optimizers(s: State, refs: Iterable[Ref]) -> list[Instance]:
    records = (s.get(ref, Instance) for ref in refs)
    return [record for record in records if record is not None and "param_groups" in record.attrs]


def _groups(s: State, values: Iterable[Value]) -> frozenset[int]:
    """The lists of parameters of optimizers, by number: what makes a scheduler, for one, changes none.

    A callee that is given trained tensors beside the optimizers may put them in.
    """
    listed: set[Ref] = set()
    beside: list[Ref] = []
    for value in values:
        reached = reachable(s, [value])
        records = (s.get(ref, Instance) for ref in reached)
        groups = [
            record.attrs["param_groups"] for record in records if record and "param_groups" in record.attrs
        ]
        listed.update(reachable(s, groups))
        beside += reached if not groups else ()
    trained = {ref for ref in beside if (tensor := s.get(ref, Tensor)) is not None and tensor.requires_grad}
    if not trained <= listed:
        return frozenset()
    return frozenset(ref.id for ref in listed if s.get(ref, List) is not None)


def _attributes(s: State, ref: Ref, *, changed: bool, keeps_modes: bool) -> None:
    """Numbers and flags of an object may be new ones; those of a layer only where it may be `changed`.

    Nor are there new layers in one that is left as it is: what initialises parameters leaves it so.
    """
    mine: Instance = s.edit(ref)
    is_layer = isinstance(mine.cls, LibraryObject) and mine.cls.name.startswith("torch.nn.")
    mine.open = mine.open or changed or not is_layer
    for attribute, value in list(mine.attrs.items()):
        if attribute.startswith("#") or isinstance(value, Ref):
            continue
        is_mode = attribute == "training"
        if (is_mode and not keeps_modes) or (not is_mode and (changed or not is_layer)):
            mine.attrs[attribute] = unknown()


def written_by(name: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> list[Value]:
    """What an operation writes to, going by its name and keywords: `f_`, `out=...`, `inplace=True`."""
    in_place = (name.endswith("_") and not name.endswith("__")) or "inplace" in kwargs
    return [*args[: 1 if in_place else 0], *(kwargs[key] for key in ("out",) if key in kwargs)]


def forget_written(s: State, values: Iterable[Value]) -> None:
    """Forget what tensors are that an unknown operation may have written to, resized or detached."""
    written = list(values)
    havoc(s, written)
    for ref in reachable(s, written):
        if isinstance(s.heap[ref.id], Tensor):
            tensor = s.edit(ref)
            tensor.requires_grad = tensor.leaf = tensor.dtype = tensor.shape = tensor.contiguous = (
                tensor.grad_fn
            ) = None
            tensor.unsure_graph = True


def forget_groups(s: State) -> None:
    """Something unknown has run: it may have cleared or filled gradients that are not known."""
    if isinstance(s.heap, ReadTrackingHeap):
        s.heap.watch.forgets = True
    tensors = [(number, record) for number, record in dict.items(s.heap) if type(record) is Tensor]
    for number, record in tensors:
        if record.is_summary and record.grad_state != "unknown":
            s.edit(Ref(number)).grad_state = "unknown"
        elif is_expected(record):
            forget_gradient(s, Ref(number))


def forget_cleared(s: State, name: str) -> None:
    """Something unknown clears gradients, going by its name: nobody knows whose."""
    if _CLEARS.search(name) is not None:
        forget_gradients(s)


def forget_gradients(s: State) -> None:
    """Gradients are cleared, and nobody knows whose."""
    for number, record in list(dict.items(s.heap)):
        if isinstance(record, Tensor) and record.leaf is not False and record.grad_state != "none":
            forget_gradient(s, Ref(number))


def forget_missing(s: State) -> None:
    """A pass over a graph that is not known has run: it may have filled the gradients that were missing."""
    for number, record in list(dict.items(s.heap)):
        if isinstance(record, Tensor) and record.requires_grad and record.grad_state == "none":
            forget_gradient(s, Ref(number))


def _is_module_frame(record: Instance) -> bool:
    return "#frame" in record.attrs


def doubt_missing(s: State, values: Iterable[Value]) -> None:
    """Something unknown that has these values has run: a gradient that was missing may be there."""
    for ref in reachable(s, values):
        tensor = s.get(ref, Tensor)
        if tensor is not None and tensor.requires_grad and tensor.grad_state == "none":
            _gradient(s, ref)


def _gradient(s: State, ref: Ref) -> None:
    """Gradients that are there may have been applied, cleared or added to.

    Nobody knows that one which is missing is None still; that no step applies it goes without saying.
    """
    tensor = s.edit(ref)
    tensor.grad = unknown()
    if tensor.grad_state != "none":
        tensor.grad_state = "unknown"


def _tensor(s: State, ref: Ref, *, is_given: bool) -> None:
    """Forget what a tensor is; one may have cut it off from its graph, but for a loss that one is given."""
    tensor = s.edit(ref)
    tensor.grad_state = "unknown" if tensor.leaf is not False else tensor.grad_state
    tensor.grad = unknown()
    if tensor.shape is not None and 0 in tensor.shape:
        tensor.shape = None  # A kernel gives its results the size that they need.
    storage = s.edit(tensor.storage)
    storage.unsure = True
    if tensor.leaf:
        tensor.requires_grad = None
        tensor.unsure_graph = True
    if tensor.grad_fn is not None:
        _graph(s, tensor.grad_fn, stays_freed=is_given and numel_is_one(tensor.shape) is True)


def _graph(s: State, start: Ref, *, stays_freed: bool) -> None:
    """A backward may have freed what is left of the graph, and filled the leaves' gradients."""
    for ref in graph_behind(s, start):
        node = s.heap[ref.id]
        if isinstance(node, Node):
            if not (stays_freed and node.freed and node.frees):
                s.edit(ref).unsure_freed = True
        elif isinstance(s.heap[ref.id], Tensor):
            doubt_gradient(s, ref)


def forget_gradient(s: State, ref: Ref) -> None:
    """The gradient of a leaf may be anything; what is no tensor has none."""
    if isinstance(s.heap[ref.id], Tensor):
        leaf = s.edit(ref)
        leaf.grad_state, leaf.grad = "unknown", unknown()


def forget_filled(s: State, values: Iterable[Value], options: Iterable[str]) -> None:
    """A callee with the options of a backward pass may have filled the gradients of what it got."""
    if not _OF_BACKWARD.isdisjoint(options):
        for ref in reachable(s, values):
            forget_gradient(s, ref)


def graph_behind(s: State, start: Value | None) -> list[Ref]:
    """The nodes of a graph and the leaves that it leads to, those of another way through the program, too."""
    seen: dict[int, Ref] = {}
    todo: list[Value | None] = [start]
    while todo:
        at = todo.pop()
        if isinstance(at, Ref) and at.id not in seen:
            seen[at.id] = at
            record = s.heap.get(at.id)
            todo += record.inputs if isinstance(record, Node) else ()
    return list(seen.values())
