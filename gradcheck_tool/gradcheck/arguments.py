"""Other numbers, flags and strings: what is changed together with a number that belongs to other arguments.

A number may repeat what another argument says: how many knots there are coefficients for, the length of an
axis, the spacing of a grid. Changed alone it makes a call that nobody would make. A whole number that is the
length of an axis is therefore changed together with that axis, and a spacing is left as it is.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.problem import LARGE, Problem, is_real_number
from gradcheck_tool.gradcheck.stencil import wide
from gradcheck_tool.gradcheck.strings import known_strings
from gradcheck_tool.gradcheck.target import overrides
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.gradcheck.variation import Variation, is_strided, longer, replaced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.gradcheck.session import Session

_STEPS = 8
"""From here on a whole number may count steps."""

_STRINGS = 4
"""Other strings that are tried for one argument."""

_PLAIN = (0.0, 0.5, 1.0, 2.0)
"""Sizes of numbers that occur in tensors by chance."""

_EFFORT = re.compile(
    r"(?:[ar]|abs|rel|\w+_)?_?tol(?:erance)?s?|(?:(?:max|n|num|min)_?)?(?:\w+_)?(?:iters?|iterations?)"
    r"|max_?steps|patience",
    re.IGNORECASE,
)
"""Names of what says how far an approximation is to go: a tolerance, a limit of iterations."""


def argument_variations(session: Session, problem: Problem) -> Iterator[Variation]:
    """Other numbers, flags and strings, and other values for parameters left at their defaults."""
    for position, leaf in enumerate(problem.leaves):
        name = session.names[position] if position < len(session.names) else None
        for other in _others(session, position, leaf, name):
            yield _with(session, problem, position, other)
    yield from _defaults(session, problem)


def other_numbers(value: Any) -> list[Any]:
    """Other values for a flag or a number that is an argument; nothing for anything else."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, float):
        return [value * 1.75 if value else 0.375]
    if isinstance(value, int) and abs(value) <= 64:
        # One step of an iteration that was to converge is no approximation of it.
        return [value + 1, 1] if 1 < value < _STEPS else [value + 1]
    return []


def _others(session: Session, position: int, value: Any, name: str | None) -> list[Any]:
    """Other values of an argument that is data. Where an approximation ends is not: a gradient that is right
    for the limit is as near to the derivative as the caller has asked for.
    """
    if name is not None and _EFFORT.fullmatch(name.strip("_")) and not isinstance(value, (bool, str)):
        return []
    if isinstance(value, float) and _is_spacing(value, session.problem):
        return []
    if not isinstance(value, str) or session.target.cls is None:
        return other_numbers(value)
    return [s for s in known_strings(session.target.cls, position) if s != value][:_STRINGS]


def _with(session: Session, problem: Problem, position: int, other: Any) -> Variation:
    """The call with another argument, and with axes of another length where the argument is their length."""
    label = f"argument {position} = {other!r}"
    alone = Variation(label, replaced(problem, {position: other}))
    value = problem.leaves[position]
    if type(value) is not int or value < 1:
        return alone
    step = other - value
    if _axes(problem, {value}):
        together = _resized(session, problem, {value}, step)
        return Variation(label, renumbered(together, value, other))
    if near := _axes(problem, {value - 1, value + 1} - {0}):
        together = _resized(session, problem, near, step)
        return Variation(label, replaced(together, {position: other}), otherwise=alone.problem)
    return alone


def _axes(problem: Problem, sizes: set[int]) -> set[int]:
    """Which of these lengths axes of tensor arguments have."""
    return sizes & {n for leaf in problem.leaves if is_strided(leaf) for n in leaf.shape}


def _resized(session: Session, problem: Problem, sizes: set[int], step: int) -> Problem:
    """All axes of one of these lengths made longer by `step`, or cut."""

    def resized(leaf: Any) -> Any:
        if not is_strided(leaf):
            return leaf
        for axis in (k for k, size in enumerate(leaf.shape) if size in sizes):
            kept = leaf.detach().narrow(axis, 0, max(leaf.shape[axis] + min(step, 0), 0))
            leaf = longer(session.draws, kept, axis, step) if step > 0 else kept
        return leaf

    return problem.with_leaves([resized(leaf) for leaf in problem.leaves])


def renumbered(problem: Problem, value: int, other: int) -> Problem:
    """Every argument that is this whole number replaced."""
    return problem.with_leaves([other if type(x) is int and x == value else x for x in problem.leaves])


def _is_spacing(value: float, problem: Problem) -> bool:
    """Whether a number is the spacing, or a bound, of the numbers in a tensor argument."""
    if abs(value) in _PLAIN:
        return False
    for leaf in problem.leaves:
        if not is_real_number(leaf) or leaf.is_complex() or not 2 < leaf.numel() <= LARGE:
            continue
        x = wide(leaf)
        found = [x.min(), x.max()]
        if x.dim() and x.shape[-1] > 1:
            steps = x.diff(dim=-1)
            found += [steps.min(), steps.max()]
        near = torch.stack(found) - value
        if bool((near.abs() <= 16 * torch.finfo(leaf.dtype).eps * abs(value)).any()):
            return True
    return False


def _defaults(session: Session, problem: Problem) -> Iterator[Variation]:
    klass = session.target.cls
    if klass is None:
        return
    parameters = list(inspect.signature(klass.forward).parameters.values())
    parameters = parameters if overrides(klass, "setup_context") else parameters[1:]
    args, kwargs = problem.build(problem.leaves)
    if kwargs or any(isinstance(a, (tuple, list, dict)) for a in args):
        return
    extra = parameters[len(args) :]
    if any(p.kind is not p.POSITIONAL_OR_KEYWORD or p.default is p.empty for p in extra):
        return
    for k, parameter in enumerate(extra):
        for other in _others(session, len(args) + k, parameter.default, parameter.name):
            tail = [p.default for p in extra[:k]] + [other]
            leaves, build = flatten([[*args, *tail], {}])
            call = replace(problem, leaves=tuple(leaves), build=build)
            yield Variation(f"argument {parameter.name} = {other!r}", call)


def has_effect(given: Problem, varied: Problem) -> bool:
    """Whether an argument that was changed changes any output: else it is for backward alone, a knob of the
    gradient.
    """
    before, after = given.forward(given.values), varied.forward(varied.values)
    return not all(_same(a, b) for a, b in zip(before, after, strict=True))


def _same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)
