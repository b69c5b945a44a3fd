"""Guesses of arguments that backward alone reads: a gradient that is wrong for one says nothing."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.knobs import Called, knobs
from gradcheck_tool.gradcheck.probes import Draws
from gradcheck_tool.gradcheck.rng import preserved, seed_torch
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter


def guessed_knob(function: Any, args: Sequence[Any], parameters: Sequence[Parameter]) -> str | None:
    """The name of an argument that was guessed and changes a gradient, but no output."""
    if not parameters:
        return None
    with preserved(), torch.enable_grad():
        found = knobs(lambda given: _called(function, given), args)
        names = (
            parameters[k].name for k in found if k < len(parameters) and not _is_known(args[k], parameters[k])
        )
        return next(names, None)


def _is_known(value: Any, parameter: Parameter) -> bool:
    """Whether that is the default, or what some call in the package passes: then it is no guess."""
    known = [one for one in (*parameter.seen, parameter.default) if one is not inspect.Parameter.empty]
    return any(type(value) is type(one) and repr(value) == repr(one) for one in known)


def _called(function: Any, args: Sequence[Any]) -> Called:
    """Outputs and gradients of one call, from the same random state each time."""
    leaves, rebuild = flatten(list(args))
    given = [
        x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in leaves
    ]
    asked = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
    seed_torch(0)
    outputs = [y for y in flatten(function.apply(*rebuild(given)))[0] if isinstance(y, Tensor)]
    used = [y for y in outputs if y.requires_grad]
    got = torch.autograd.grad(used, asked, Draws(0).spread(used), allow_unused=True)  # a bound shows
    return [y.detach() for y in outputs], list(got)
