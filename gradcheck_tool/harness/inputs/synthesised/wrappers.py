"""Arguments for a Function by way of the functions and modules that call it.

What a repository's own code passes to `apply` is right by construction, so functions around the call
sites are searched for arguments, and the calls of the Function inside them are kept.
"""

from __future__ import annotations

import copy
import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.held import tensors_inside
from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs.case import Case
from gradcheck_tool.harness.inputs.synthesised.candidates import candidates
from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter, parameters_of
from gradcheck_tool.harness.inputs.synthesised.search import Search, State
from gradcheck_tool.harness.inputs.synthesised.specs import TensorSpec
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, try_call
from gradcheck_tool.harness.inputs.synthesised.usage import Body
from gradcheck_tool.harness.record.interception import intercepted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gradcheck_tool.harness.inputs.synthesised.callsites import CallSite
    from gradcheck_tool.harness.inputs.synthesised.direct import Maker

_MOST_WRAPPERS = 6
_TRIES, _SECONDS = 300, 4.0
_KEPT = 2
_SHAPES = ((2, 3, 16, 16), (2, 3, 16), (4, 8))

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def captured_calls(function: Any, sites: list[CallSite], maker: Maker) -> tuple[Case, ...]:
    """Calls of the Function that functions around its call sites made; empty where none was reached."""
    places = {(site.filename, site.within, str(site.conditions)): site for site in sites if site.within}
    tried = 0
    for site in places.values():
        callee = _callee(site)
        if callee is None:
            continue
        tried += 1
        if tried > _MOST_WRAPPERS:
            return ()
        calls = _search(function, callee, maker) or _round_trips(function, callee, maker)
        if calls:
            return tuple(
                Case(args, kwargs, "synthesised", f"as {callee.text} calls it") for args, kwargs in calls
            )
    return ()


@dataclass(frozen=True)
class _Callee:
    """What is called to reach a call site: a function, or the making of an object and a method of it.

    Attributes:
        call: takes the values of `parameters`, in order.
        parameters: those that a call must give.
        given: how many of them, at the end, are not for making the object.
        text: its name.
        body: the function or method around the call site.
        owner: the class of the object.
    """

    call: Callable[..., Any]
    parameters: list[Parameter]
    given: int
    text: str
    body: Any
    owner: type | None = None


def _callee(site: CallSite) -> _Callee | None:
    module = _loaded(site.filename)
    if module is None or site.within is None:
        return None
    path = site.within.split(".")
    outer: Any = getattr(module, path[0], None)
    try:
        if len(path) == 1 and callable(outer) and not isinstance(outer, type):
            needed, call = _needed(outer, parameters_of(outer), site.conditions)
            return _Callee(call, needed, len(needed), path[0], outer)
        method: Any = getattr(outer, path[1], None) if len(path) > 1 and isinstance(outer, type) else None
        if method is None or issubclass(outer, torch.autograd.Function):
            return None
        made, make = _needed(outer, parameters_of(_maker(outer), skip=1), site.conditions)
        found = parameters_of(method, skip=1)
    except (ValueError, TypeError):
        return None
    given, _ = _needed(method, found, site.conditions)

    def make_and_call(*args: Any) -> Any:
        target = make(*args[: len(made)])
        called = target if path[1] in ("forward", "__call__") else getattr(target, path[1])
        return _needed(called, found, site.conditions)[1](*args[len(made) :])

    return _Callee(make_and_call, [*made, *given], len(given), ".".join(path[:2]), method, outer)


def _maker(owner: type) -> Any:
    """The `__init__` that makes objects of a class."""
    return next(vars(base)["__init__"] for base in owner.__mro__ if "__init__" in vars(base))


def _needed(
    call: Callable[..., Any], parameters: list[Parameter], conditions: dict[str, Any]
) -> tuple[list[Parameter], Callable[..., Any]]:
    """The parameters without a default, and the callable that takes them in order.

    Those on which it depends that the call site is reached are set; the rest is best left to the defaults.
    """
    names = {parameter.name for parameter in parameters}
    fixed = {name: value for name, value in conditions.items() if name in names}
    needed = [p for p in parameters if p.required and not p.variable and p.name not in fixed]
    return needed, lambda *args: call(**fixed, **{p.name: a for p, a in zip(needed, args, strict=True)})


def _search(function: Any, callee: _Callee, maker: Maker) -> list[_Call]:
    kept: list[_Call] = []
    bodies = [(1, Body(inspect.unwrap(callee.body)))]

    def attempt(state: State) -> Outcome:
        outcome = _tried(function, callee.call, maker.arguments(state), maker, kept, bodies)
        return Outcome("", 5) if kept else outcome

    Search(callee.parameters, attempt).run(_TRIES, _SECONDS)
    return kept[:_KEPT]


def _round_trips(function: Any, callee: _Callee, maker: Maker) -> list[_Call]:
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
        if cls is function and len(seen) < _KEPT:
            seen.append(_copied((args, kwargs)))

    with preserved(), intercepted(look):
        torch.manual_seed(0)
        outcome = try_call(call, arguments, bodies)
    for args, kwargs in seen:
        result = maker.attempt_with(args) if not kwargs else outcome
        if not result.problem and _wants_grad(args):
            kept.append((_needing(args, result), kwargs))
    problem = outcome.problem or "the Function was not called"
    return Outcome(problem, outcome.stage, outcome.row, outcome.suspects)


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


def _loaded(filename: str) -> Any:
    """The imported module of a file."""
    name = Path(filename).name
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin and Path(origin).name == name and Path(origin).resolve() == Path(filename).resolve():
            return module
    return None
