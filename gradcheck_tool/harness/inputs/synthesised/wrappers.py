"""Arguments for a Function by way of the functions and modules that call it.

What a repository's own code passes to `apply` is right by construction, so functions around the call
sites are searched for arguments, and the calls of the Function inside them are kept.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.session import quiet
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs import Case
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
        parameters: those that a call must give, or that decide whether the call site is reached.
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
            needed = _needed(parameters_of(outer), site.conditions)
            return _Callee(_by_name(outer, needed), needed, len(needed), path[0], outer)
        method: Any = getattr(outer, path[1], None) if len(path) > 1 and isinstance(outer, type) else None
        if method is None or issubclass(outer, torch.autograd.Function):
            return None
        made, given = (_needed(parameters_of(f, skip=1), site.conditions) for f in (_maker(outer), method))
    except (ValueError, TypeError):
        return None
    make = _by_name(outer, made)

    def make_and_call(*args: Any) -> Any:
        target = make(*args[: len(made)])
        called = target if path[1] in ("forward", "__call__") else getattr(target, path[1])
        return _by_name(called, given)(*args[len(made) :])

    return _Callee(make_and_call, [*made, *given], len(given), ".".join(path[:2]), method, outer)


def _by_name(call: Callable[..., Any], parameters: list[Parameter]) -> Callable[..., Any]:
    """The callable with values for these parameters in their order, and no others."""
    names = [parameter.name for parameter in parameters]
    return lambda *args: call(**dict(zip(names, args, strict=True)))


def _maker(owner: type) -> Any:
    """The `__init__` that makes objects of a class."""
    return next(vars(base)["__init__"] for base in owner.__mro__ if "__init__" in vars(base))


def _needed(parameters: list[Parameter], conditions: dict[str, Any]) -> list[Parameter]:
    """Those without a default, and those on which it depends that the call site is reached; the rest is
    best left to the defaults.
    """
    for parameter in parameters:
        if parameter.name in conditions:
            parameter.seen = [conditions[parameter.name]]
    return [p for p in parameters if not p.variable and (p.required or p.name in conditions)]


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
            seen.append((tuple(map(_copied, args)), {k: _copied(v) for k, v in kwargs.items()}))

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
    """The value with its tensors cut off from the graph of the caller."""
    leaves, rebuild = flatten(value)
    return rebuild(
        [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in leaves]
    )


def _wants_grad(args: tuple[Any, ...]) -> bool:
    return any(isinstance(x, Tensor) and x.requires_grad for x in flatten(args)[0])


def _needing(args: tuple[Any, ...], outcome: Outcome) -> tuple[Any, ...]:
    """Tensors for which backward returns None on purpose are not to require grad."""
    leaves, rebuild = flatten(args)
    came = iter(outcome.gradients)
    got_one = [isinstance(x, Tensor) and next(came, False) for x in leaves]
    fresh = [
        x.detach().requires_grad_(x.requires_grad and got) if isinstance(x, Tensor) else x
        for x, got in zip(leaves, got_one, strict=True)
    ]
    made: tuple[Any, ...] = rebuild(fresh)
    return made


def _loaded(filename: str) -> Any:
    """The imported module of a file."""
    name = Path(filename).name
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin and Path(origin).name == name and Path(origin).resolve() == Path(filename).resolve():
            return module
    return None
