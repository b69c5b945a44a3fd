"""Calling the functions and methods of an imported package, with what they need left open."""

from __future__ import annotations

import sys
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter, maker_of, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable

_CALLED = ("forward", "__call__", "__init__")


@dataclass(frozen=True)
class Callee:
    """What is called to reach a place: a function, or the making of an object and a method of it.

    Attributes:
        call: takes the values of `parameters`, in order.
        parameters: those that a call must give.
        given: how many of them, at the end, are not for making the object.
        text: its name.
        body: the function or method around the place.
        owner: the class of the object.
    """

    call: Callable[..., Any]
    parameters: list[Parameter]
    given: int
    text: str
    body: Any
    owner: type | None = None


def callee_of(filename: str, within: str, conditions: dict[str, Any]) -> Callee | None:
    """The function or method of a file that is imported; None where it cannot be called from outside.

    Args:
        filename: the file.
        within: qualified name of what is to be called, or of a function inside it.
        conditions: values of parameters on which it depends that the place is reached.
    """
    module = loaded(filename)
    path = within.split(".")
    outer: Any = getattr(module, path[0], None)
    try:
        if not isinstance(outer, type):
            return _function(outer, path[0], conditions) if callable(outer) else None
        if len(path) == 1 or issubclass(outer, torch.autograd.Function):
            return None
        return _method(outer, "__call__" if path[1] in _CALLED else path[1], conditions)
    except (ValueError, TypeError):
        return None


def _function(outer: Any, name: str, conditions: dict[str, Any]) -> Callee:
    needed, call = _needed(outer, parameters_of(outer), conditions)
    return Callee(call, needed, len(needed), name, outer)


def _method(outer: type, name: str, conditions: dict[str, Any]) -> Callee | None:
    """Make an object and call a method of it; the forward of a module stands for calling it."""
    forward = getattr(outer, "forward", None) if name == "__call__" else None
    body = forward or getattr(outer, name, None)
    if not callable(body):
        return None
    made, make = _needed(outer, parameters_of(*maker_of(outer)), conditions)
    plain = isinstance(vars(outer).get(name), (staticmethod, classmethod))
    found = parameters_of(body, skip=0 if plain else 1)
    given, _ = _needed(body, found, conditions)

    def make_and_call(*args: Any) -> Any:
        target = make(*args[: len(made)])
        if isinstance(target, unittest.TestCase):
            target.setUp()
        called = target if name == "__call__" else getattr(target, name)
        return _needed(called, found, conditions)[1](*args[len(made) :])

    label = f"{outer.__name__}.{'forward' if forward else name}"
    return Callee(make_and_call, [*made, *given], len(given), label, body, outer)


def _needed(
    call: Callable[..., Any], parameters: list[Parameter], conditions: dict[str, Any]
) -> tuple[list[Parameter], Callable[..., Any]]:
    """The parameters without a default, and the callable that takes them in order.

    Those on which it depends that the place is reached are set; the rest is best left to the defaults.
    """
    names = {parameter.name for parameter in parameters}
    fixed = {name: value for name, value in conditions.items() if name in names}
    needed = [p for p in parameters if p.required and not p.variable and p.name not in fixed]
    return needed, lambda *args: call(**fixed, **{p.name: a for p, a in zip(needed, args, strict=True)})


def loaded(filename: str) -> Any:
    """The imported module of a file."""
    name = Path(filename).name
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin and Path(origin).name == name and Path(origin).resolve() == Path(filename).resolve():
            return module
    return None
