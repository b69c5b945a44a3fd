"""What callers ordinarily do with what a unit returns, where no caller is in sight.

A module's `forward` is called to train: each tensor of its result that has a graph is differentiated once.
What the engine would raise then belongs to the line of the unit that makes it raise, and the finding says
what it assumes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import SavedTensorModified, UnversionedWrite
from gradcheck_tool.domain.graph import Storage, Tensor
from gradcheck_tool.domain.records import Class, Dict, Instance, List
from gradcheck_tool.domain.values import GRAPH, NONE, TRUE, LibraryObject, Ref, Symbol, Tup, Value
from gradcheck_tool.engine import backward
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp.program import AssumedPass
from gradcheck_tool.library.torch.graph_symbols import node_of
from gradcheck_tool.library.torch.module_tree import makes_modules
from gradcheck_tool.library.torch.settings import is_named_number
from gradcheck_tool.library.torch.tensor_values import as_tensor
from gradcheck_tool.trackers.events import BackwardCall, ParameterCutOff

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradcheck_tool.domain.events import Event
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import FrameExit, Interpreter

# What is called so comes with the data, and requires no gradient.
_GIVEN = re.compile(
    r"(?:^|_)(?:targets?|labels?|masks?|teacher|adv|advantages?|returns|rewards?|y|gt|true|truth|ind(?:ex|ices)|idx|"
    r"ids?|lengths?|shape|edge_\w+|pos)\d?(?:_\w|$)"
)
# What is called so is set, and not computed.
_SETTING = re.compile(
    r"(?:^|_)(?:temp(?:erature)?|tau|eps(?:ilon)?|margin|alpha|beta|gamma|lamb?da?|lmbda|weights?|scale|sigma|smooth\w*|"
    r"k|n|t|dim|size|coef\w*|ratio|device|reduction|num_\w+)$"
)
# Options of such names are given, or on, where nothing is trained.
_PREDICTING = re.compile(
    r"(?:^|_)(?:test|eval|evaluate|predict|inference|infer)(?:_mode|_params|_context|ing)?$"
    r"|^incremental_state$|^past_key_values?$|(?:^|_)cache$"
)
# What a finding assumes that is about a pass from the result of a unit, which whoever calls it makes.
DIFFERENTIATED = "the result of `{}` is differentiated"
# How deep tensors are looked for in what a unit returns.
DEPTH = 3


def is_module_class(s: State, cls: Value) -> bool:
    """Does a class of the repository derive from `nn.Module`, or from a layer?"""
    return s.get(cls, Class) is not None and makes_modules(s, cls)


def differentiate(m: Interpreter, ends: Iterable[FrameExit], name: str, assumes: Iterable[str] = ()) -> None:
    """Differentiate what a forward returned, each way, and note what goes wrong."""
    for end in ends:
        # The object goes on as the unit has left it: a method of its own may differentiate what it keeps.
        s = end.state.fork()
        _take_for_tensors(m, s, end.value)
        run = _pass_from(s, end.value, name)
        if run is None:
            continue
        told = tuple(dict.fromkeys((DIFFERENTIATED.format(name), *m.program.assumes, *assumes)))
        event = _goes_wrong(s, run)
        if event is not None:
            m.program.ordinary.append(replace(event, assumes=told, unit=name))
        else:
            reached = frozenset(ref.id for ref in run.ran)
            m.program.assumed_passes.append(AssumedPass(reached, name, told))


def trained_arguments(s: State, ends: Iterable[FrameExit], given: Mapping[str, Value]) -> list[str]:
    """The arguments of a forward that writes in place, or to buffers, which layers before it have computed.

    That is the first that it takes for a tensor, and what it writes to itself, but for targets and the like.

    Args:
        s: the state before the call.
        ends: the states after it.
        given: the arguments of which something is known, and the others.
    """
    writing = [end.state for end in ends if has_written(s, end.state)]
    first = [name for state in writing[:1] for name in _tensors_among(state, given)[:1]]
    written = [
        name
        for state in writing
        for name, value in given.items()
        if (tensor := _taken_for(state, value)) is not None and state[tensor.storage].site is not None
    ]
    return [name for name in dict.fromkeys(first + written) if not is_given_with_data(name)]


def may_train(ends: Iterable[FrameExit], given: Mapping[str, Value]) -> list[FrameExit]:
    """The ways on which no argument that was given, or is on, says that the unit only predicts."""
    told = [value for name, value in given.items() if _PREDICTING.search(name)]
    return [end for end in ends if not any(_is_there(end.state, value) for value in told)]


def _is_there(s: State, value: Value) -> bool:
    """Was a value found to be true, or not to be None?"""
    if not isinstance(value, Symbol):
        return value == TRUE
    is_none = s.path_condition.get(Symbol(("cmp", "is", value, NONE), "bool"))
    return is_none is False or s.path_condition.get(value) is True


def is_given_with_data(name: str) -> bool:
    """Does something that is called so come with the data?"""
    return _GIVEN.search(name) is not None


def is_set(name: str) -> bool:
    """Is something that is called so set, and not computed?"""
    return _SETTING.search(name) is not None or is_named_number(name)


def tensor_arguments(ends: Iterable[FrameExit], given: Mapping[str, Value]) -> tuple[list[str], list[str]]:
    """The arguments that a loss takes for tensors: those to be differentiated, and targets and the like."""
    taken = [name for end in ends for name in _tensors_among(end.state, given)]
    names = [name for name in dict.fromkeys(taken) if not is_set(name)]
    return (
        [name for name in names if not is_given_with_data(name)],
        [name for name in names if is_given_with_data(name)],
    )


def has_written(before: State, after: State) -> bool:
    """Has anything been written to in place, or a buffer been replaced?"""
    written = any(
        storage.site is not None and before.heap.get(ref.id) is not storage
        for ref, storage in after.records(Storage)
    )
    return written or any(
        _buffers(record) != _buffers(before[ref])
        for ref, record in after.records(Instance)
        if ref.id in before.heap
    )


def _buffers(record: Instance) -> list[Value | None]:
    """What the buffers of a module are."""
    names = record.attrs.get("#buffers")
    return [record.attrs.get(name.value) for name in names.items] if isinstance(names, Tup) else []  # type: ignore[union-attr]


def _taken_for(s: State, value: Value) -> Tensor | None:
    """The tensor that an unknown argument has been taken for."""
    if not isinstance(value, Symbol):
        return None
    return s.get(s.memory.get(value, s.memory.get(Symbol(("tensor", value)))), Tensor)


def _tensors_among(s: State, given: Mapping[str, Value]) -> list[str]:
    """The arguments that are tensors, as they have been used."""
    found = operands(s)
    return [name for name, value in given.items() if value in found or _taken_for(s, value) is not None]


def operands(s: State) -> set[Value]:
    """The unknown terms and factors of what is taken for a tensor: `x` and `y` of `torch.exp(-x * y)`."""
    taken = (known.key for known in s.memory if isinstance(known, Symbol))
    found: set[Value] = set()
    todo = [key[1] for key in taken if isinstance(key, tuple) and key[0] == "tensor"]
    while todo:
        at = todo.pop()
        if isinstance(at, Symbol) and isinstance(at.key, tuple) and at.key[0] in ("op", "unary"):
            parts = [part for part in at.key[2:] if isinstance(part, Symbol) and part not in found]
            found.update(parts)
            todo += parts
    return found


def _pass_from(s: State, value: Value, name: str) -> backward.BackwardPass | None:
    """The pass that differentiates the result of a unit once; None where it has no graph."""
    roots = roots_in(s, value)
    if not roots:
        return None
    given, text = [True] * len(roots), f"{name}(...)"
    return backward.BackwardPass(roots, given, retain=False, create=False, site=s[roots[0]].site, text=text)


def _goes_wrong(s: State, run: backward.BackwardPass) -> Event | None:
    """Run a pass, which changes the state: what goes wrong, at the write that breaks it; None if nothing."""
    try:
        backward.run_backward(s, run)
    except Raised as error:
        return _where_it_is_made(error.event, run.text)
    return _where_it_is_made(run.silent[0], run.text) if run.silent else None


def _take_for_tensors(m: Interpreter, s: State, value: Value, depth: int = DEPTH) -> None:
    """What layers out of sight have returned are tensors where a forward returns it."""
    if isinstance(value, Symbol) and value.kind == GRAPH:
        node = node_of(s, value)
        if isinstance(node, Ref):
            as_tensor(m, s, value, s[node].site)
    for part in _parts(s, value) if depth else ():
        _take_for_tensors(m, s, part, depth - 1)


def news(ordinary: Iterable[Event], events: Iterable[Event], reached: set[int]) -> list[Event]:
    """What ordinary use shows that no event shows in a backward of the program's own, each once.

    Parameters that are `reached` from elsewhere are not cut off.
    """
    shown = {_key(event) for event in events}
    found = {_key(event): event for event in reversed(list(ordinary))}
    news = [event for key, event in reversed(found.items()) if key not in shown]
    return [each for each in news if not isinstance(each, ParameterCutOff) or not each.places & reached]


def _key(event: Event) -> tuple[object, ...]:
    if isinstance(event, ParameterCutOff):
        return type(event), event.parameter, id(event.site.node)
    if isinstance(event, BackwardCall):
        return type(event), id(event)
    return type(event), *(id(site.node) for site in [step.site for step in event.story] or [event.site])


def _where_it_is_made(event: Event | None, root: object) -> Event | None:
    """The event at the write that breaks the backward."""
    if isinstance(event, SavedTensorModified) and event.story:
        return replace(event, site=event.story[-1].site, root=str(root))
    if isinstance(event, UnversionedWrite) and event.story:
        return replace(event, site=event.story[-1].site)
    return None


def roots_in(s: State, value: Value) -> list[Ref]:
    """The tensors in a result that have a graph to differentiate."""
    return [ref for ref in tensors_in(s, value) if s[ref].requires_grad and s[ref].leaf is False]


def tensors_in(s: State, value: Value, depth: int = DEPTH) -> list[Ref]:
    """The tensors in a result: itself, or the elements of tuples, lists, dictionaries and plain objects."""
    value = s.memory.get(Symbol(("tensor", value)), value)
    if isinstance(value, Ref) and s.get(value, Tensor) is not None:
        return [value]
    if not depth:
        return []
    return [ref for part in _parts(s, value) for ref in tensors_in(s, part, depth - 1)]


def _parts(s: State, value: Value) -> list[Value]:
    if isinstance(value, Tup):
        return list(value.items)
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, List):
        return record.items
    if isinstance(record, Dict):
        return list(record.items.values())
    if isinstance(record, Instance) and not isinstance(record.cls, LibraryObject):
        return list(record.attrs.values()) if not is_module_class(s, record.cls) else []
    return []
