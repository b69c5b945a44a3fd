"""Arguments for a Function by way of the functions and modules that call it.

What a repository's own code passes to `apply` is right by construction, so functions around the call
sites are searched for arguments, and the calls of the Function inside them are kept.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.inputs import Case
from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter, parameters_of
from gradcheck_tool.harness.inputs.synthesised.search import Search, State
from gradcheck_tool.harness.inputs.synthesised.trial import Outcome, try_call
from gradcheck_tool.harness.inputs.synthesised.usage import Body
from gradcheck_tool.harness.record.interception import intercepted

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.harness.inputs.synthesised.callsites import CallSite
    from gradcheck_tool.harness.inputs.synthesised.direct import Maker

_MOST_WRAPPERS = 6
_TRIES, _SECONDS = 300, 4.0
_KEPT = 2

_Call = tuple[tuple[Any, ...], dict[str, Any]]


def captured_calls(function: Any, sites: list[CallSite], maker: Maker) -> tuple[Case, ...]:
    """Calls of the Function that functions around its call sites made; empty where none was reached."""
    tried = 0
    for name in dict.fromkeys((site.filename, site.within) for site in sites if site.within):
        filename, within = name
        if within is None or _loaded(filename) is None:
            continue
        for callee, parameters, text in _callables(filename, within):
            tried += 1
            if tried > _MOST_WRAPPERS:
                return ()
            calls = _search(function, callee, parameters, maker)
            if calls:
                return tuple(
                    Case(args, kwargs, "synthesised", f"as {text} calls it") for args, kwargs in calls
                )
    return ()


def _callables(filename: str, within: str) -> list[tuple[Callable[..., Any], list[Parameter], str]]:
    """The function around a call site; for a method, the making of its object and the call together."""
    path = within.split(".")
    outer: Any = getattr(_loaded(filename), path[0], None)
    try:
        if len(path) == 1 and callable(outer) and not isinstance(outer, type):
            return [(outer, _needed(parameters_of(outer)), path[0])]
        method: Any = getattr(outer, path[1], None) if len(path) > 1 and isinstance(outer, type) else None
        if method is None or issubclass(outer, torch.autograd.Function):
            return []
        made, given = (_needed(parameters_of(f, skip=1)) for f in (_maker(outer), method))
    except (ValueError, TypeError):
        return []

    def make_and_call(*args: Any) -> Any:
        target = outer(*args[: len(made)])
        called = target if path[1] in ("forward", "__call__") else getattr(target, path[1])
        return called(*args[len(made) :])

    return [(make_and_call, [*made, *given], ".".join(path[:2]))]


def _maker(owner: type) -> Any:
    """The `__init__` that makes objects of a class."""
    return next(vars(base)["__init__"] for base in owner.__mro__ if "__init__" in vars(base))


def _needed(parameters: list[Parameter]) -> list[Parameter]:
    """Those without a default; the rest is best left to the defaults."""
    return [parameter for parameter in parameters if parameter.required and not parameter.variable]


def _search(
    function: Any, callee: Callable[..., Any], parameters: list[Parameter], maker: Maker
) -> list[_Call]:
    kept: list[_Call] = []
    bodies = [(1, Body(inspect.unwrap(callee)))]

    def attempt(state: State) -> Outcome:
        seen: list[_Call] = []

        def look(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if cls is function and len(seen) < _KEPT:
                seen.append((tuple(map(_copied, args)), {k: _copied(v) for k, v in kwargs.items()}))

        with preserved(), intercepted(look):
            torch.manual_seed(0)
            outcome = try_call(callee, maker.arguments(state), bodies)
        for args, kwargs in seen:
            result = maker.attempt_with(args) if not kwargs else outcome
            if not result.problem and _wants_grad(args):
                kept.append((_needing(args, result), kwargs))
        if kept:
            return Outcome("", 5)
        return Outcome(
            outcome.problem or "the Function was not called", outcome.stage, outcome.row, outcome.suspects
        )

    Search(parameters, attempt).run(_TRIES, _SECONDS)
    return kept[:_KEPT]


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
