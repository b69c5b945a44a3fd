"""Bounds with which forward keeps an argument inside of an open domain: `x.clamp(-1 + 1e-15, 1 - 1e-15)`.

Nobody writes such a bound for the sake of the values beyond it: they are none that the Function is made for.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.parsed import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.gradcheck.problem import Problem

_CLAMPS = ("clamp", "clip", "clamp_", "clip_")
_SMALL = re.compile(r"eps|tiny|delta|tol", re.IGNORECASE)
_MARGIN = 1e-2
"""The widest distance of a bound from the end of the domain that it keeps out."""


def left(klass: Any, names: Sequence[str | None], given: Problem, varied: Problem) -> str | None:
    """The argument that a variation takes out of the domain that forward guards, in which it was given."""
    for name, low, high in _guards(getattr(klass, "forward", None)):
        if name not in names:
            continue
        before, after = (problem.leaves[names.index(name)] for problem in (given, varied))
        if _is_inside(before, low, high) and not _is_inside(after, low, high):
            return name
    return None


def _is_inside(value: Any, low: float, high: float) -> bool:
    if not isinstance(value, Tensor) or value.is_complex() or not value.numel():
        return True
    least, most = (float(end) for end in torch.aminmax(value.detach()))
    return low <= least and most <= high


@functools.lru_cache(maxsize=256)
def _guards(forward: Any) -> tuple[tuple[str, float, float], ...]:
    """Parameters of a function with the ends of the domain to which it clamps them."""
    tree = None if forward is None else parsed(forward)[0]
    return () if tree is None else tuple(_in(tree))


def _in(tree: ast.FunctionDef) -> Iterator[tuple[str, float, float]]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr not in _CLAMPS:
            continue
        of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
        clamped = [*node.args[:1]] if of_torch else [node.func.value]
        bounds = dict(zip(("min", "max"), node.args[1:] if of_torch else node.args, strict=False))
        bounds |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg in ("min", "max")}
        ends = {side: end for side, bound in bounds.items() if (end := _end(bound)) is not None}
        if len(clamped) == 1 and isinstance(clamped[0], ast.Name) and ends and len(ends) == len(bounds):
            yield clamped[0].id, ends.get("min", -math.inf), ends.get("max", math.inf)


def _end(bound: ast.expr) -> float | None:
    """`1` for `1 - 1e-15` and for `1 - eps`; None for a bound that keeps no margin."""
    if not isinstance(bound, ast.BinOp) or not isinstance(bound.op, (ast.Add, ast.Sub)):
        return None
    end, margin = _number(bound.left), _number(bound.right)
    small = margin is not None and 0 < margin <= _MARGIN
    named = isinstance(bound.right, (ast.Name, ast.Attribute)) and _SMALL.search(ast.unparse(bound.right))
    return end if small or named else None


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return float(value) if isinstance(value, (int, float)) else None
