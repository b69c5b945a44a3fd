"""Arguments for a Function by way of the functions and modules that call it.

What a repository's own code passes to `apply` is right by construction, so functions around the call
sites are searched for arguments, and the calls of the Function inside them are kept.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.held import tensors_inside
from gradcheck_tool.gradcheck.rng import preserved, seed_torch
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs.case import Case
from gradcheck_tool.harness.inputs.synthesised.callees import Callee, callee_of
from gradcheck_tool.harness.inputs.synthesised.callsites import callers_of
from gradcheck_tool.harness.inputs.synthesised.candidates import candidates
from gradcheck_tool.harness.inputs.synthesised.examples import examples_of, main_block
from gradcheck_tool.harness.inputs.synthesised.objects import with_objects
from gradcheck_tool.harness.inputs.synthesised.search import Search, State
from gradcheck_tool.harness.inputs.synthesised.specs import TensorSpec
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, try_call
from gradcheck_tool.harness.inputs.synthesised.usage import Body
from gradcheck_tool.harness.record.interception import intercepted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.harness.functions import FunctionRef
    from gradcheck_tool.harness.inputs.synthesised.budget import Budget
    from gradcheck_tool.harness.inputs.synthesised.callsites import CallSite
    from gradcheck_tool.harness.inputs.synthesised.direct import Maker

_MOST_WRAPPERS = 16
_FARTHEST = 2
"""Callers of callers of callers."""
_TRIES, _SECONDS = 300, 3.0
_KEPT = 2
_SHAPES = ((2, 3, 16, 16), (2, 3, 16), (4, 8))

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def captured_calls(
    function: Any, ref: FunctionRef, sites: Sequence[CallSite], maker: Maker, budget: Budget
) -> tuple[Case, ...]:
    """Calls of the Function that functions around its call sites made; empty where none was reached."""
    for callee in islice(_callees(ref, sites), _MOST_WRAPPERS):
        if budget.over:
            break
        calls = _examples(function, examples_of(callee.body, callee.owner), maker)
        calls = calls or _search(function, callee, maker, budget.share(_SECONDS))
        calls = calls or _round_trips(function, callee, maker)
        if calls:
            return _cases(calls, f"as {callee.text} calls it")
    return _cases(
        _examples(function, main_block(ref.filename), maker), "as the main block of its file calls it"
    )


def _cases(calls: Sequence[_Call], note: str) -> tuple[Case, ...]:
    return tuple(Case(args, kwargs, "synthesised", note) for args, kwargs in calls)


def _callees(ref: FunctionRef, sites: Sequence[CallSite]) -> Iterator[Callee]:
    """What stands around the call sites, then what calls that."""
    pending = deque((site, 0) for site in sites)
    seen: set[tuple[str, str | None, str]] = set()
    while pending:
        site, distance = pending.popleft()
        place = (site.filename, site.within, str(site.conditions))
        if place in seen:
            continue
        seen.add(place)
        callee = callee_of(site.filename, site.within, site.conditions) if site.within else None
        if callee is not None:
            yield callee
        if distance < _FARTHEST:
            pending += ((caller, distance + 1) for caller in callers_of(site, ref))


def _examples(function: Any, runs: Iterator[Callable[[], Any]], maker: Maker) -> list[_Call]:
    """Calls of the Function by code that shows how something is used."""
    kept: list[_Call] = []
    for run in runs:
        _tried(function, run, (), maker, kept, [])
    return kept[:_KEPT]


def _search(function: Any, callee: Callee, maker: Maker, budget: Budget) -> list[_Call]:
    kept: list[_Call] = []
    bodies = [(1, Body(inspect.unwrap(callee.body)))]

    def attempt(state: State) -> Outcome:
        outcome = _tried(function, callee.call, maker.arguments(state), maker, kept, bodies)
        return Outcome("", 5) if kept else outcome

    Search(with_objects(callee.parameters), attempt).run(_TRIES, budget)
    return kept[:_KEPT]


def _round_trips(function: Any, callee: Callee, maker: Maker) -> list[_Call]:
    """An inverse takes what its transform gives: try the outputs of the modules that stand beside it."""
    kept: list[_Call] = []
    if callee.owner is None or callee.given != 1:
        return kept
    for value in _outputs_beside(callee.owner, maker):
        state = tuple(candidates(parameter)[0][1] for parameter in callee.parameters[:-1])
        _tried(function, callee.call, (*maker.arguments(state), value), maker, kept, [])
        if kept:
            break
    return kept[:_KEPT]


def _outputs_beside(owner: type, maker: Maker) -> Iterator[Any]:
    """What other modules of the file of a class return for a few usual shapes, made with their defaults."""
    for other in list(vars(sys.modules[owner.__module__]).values()):
        if not isinstance(other, type) or not issubclass(other, torch.nn.Module) or other is owner:
            continue
        if other.__module__ != owner.__module__:
            continue
        for shape in _SHAPES:
            value = maker.arguments((TensorSpec(shape),))[0]
            with preserved():
                made = quiet(lambda other=other, value=value: other()(value))  # type: ignore[misc]
            if not isinstance(made, Exception):
                yield _copied(made)


def _tried(
    function: Any,
    call: Callable[..., Any],
    arguments: Sequence[Any],
    maker: Maker,
    kept: list[_Call],
    bodies: Sequence[tuple[int, Body]],
) -> Outcome:
    """Call once; keeps the calls of the Function inside that work by themselves."""
    seen: list[_Call] = []

    def look(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if _is_same(cls, function) and len(seen) < _KEPT:
            seen.append(_copied((args, kwargs)))

    with preserved(), intercepted(look):
        seed_torch(0)
        outcome = try_call(call, arguments, bodies)
    for args, kwargs in seen:
        result = maker.attempt_with(args) if not kwargs else outcome
        if not result.problem and _wants_grad(args):
            kept.append((_needing(args, result), kwargs))
    problem = outcome.problem or "the Function was not called"
    return Outcome(problem, outcome.stage, outcome.rows, outcome.suspects)


def _is_same(cls: Any, function: Any) -> bool:
    """Whether a class is the Function, or another that the same factory made."""
    if cls is function or "<locals>" not in function.__qualname__:
        return cls is function
    return (cls.__module__, cls.__qualname__) == (function.__module__, function.__qualname__)


def _copied(value: Any) -> Any:
    """The value with its tensors cut off from the graph of the caller.

    A module that holds tensors of the value is copied, too, and holds their copies.
    """
    leaves, rebuild = flatten(value)
    copies = {id(x): _cut(x) for x in leaves if isinstance(x, Tensor)}
    return rebuild([copies[id(x)] if isinstance(x, Tensor) else _holding(x, copies) for x in leaves])


def _cut(tensor: Tensor) -> Tensor:
    alone = tensor.detach().clone()
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(alone, tensor.requires_grad)
    return alone.requires_grad_(tensor.requires_grad)


def _holding(value: Any, copies: dict[int, Tensor]) -> Any:
    if not isinstance(value, torch.nn.Module) or not any(id(t) in copies for t in tensors_inside(value)):
        return value
    return copy.deepcopy(value, dict(copies))


def _wants_grad(args: tuple[Any, ...]) -> bool:
    return any(isinstance(x, Tensor) and x.requires_grad for x in flatten(args)[0])


def _needing(args: tuple[Any, ...], outcome: Outcome) -> tuple[Any, ...]:
    """Tensors for which backward returns None on purpose are not to require grad."""
    leaves, rebuild = flatten(args)
    came = iter(outcome.gradients)
    got_one = [isinstance(x, Tensor) and next(came, False) for x in leaves]
    for x, got in zip(leaves, got_one, strict=True):
        if isinstance(x, Tensor):
            x.requires_grad_(x.requires_grad and got)
    made: tuple[Any, ...] = rebuild(leaves)
    return made
