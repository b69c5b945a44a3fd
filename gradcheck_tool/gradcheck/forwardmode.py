"""The other rules of a Function: forward mode (`jvp`) and batching (`vmap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.stencil import inner, judge, pairing, wide
from gradcheck_tool.gradcheck.target import overrides
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.gradcheck.problem import Problem


def check_jvp(session: Session) -> None:
    """Compare the Function's own `jvp` with finite differences along random directions, input by input."""
    klass = session.target.cls
    if klass is None or not overrides(klass, "jvp"):
        return
    problem = session.problem
    values = problem.values
    meant = {i for i, verdict in enumerate(session.verdicts) if verdict.word == "surrogate"}
    for i in (i for i in range(len(values)) if i not in meant):
        wrong = 0
        for _ in range(2):
            direction = session.draws.direction(values, [i])
            if i in session.manifolds:
                direction[i] = session.manifolds[i](wide(values[i]), direction[i])
            tangents = quiet(lambda d=direction: _pushed(problem, d))  # type: ignore[misc]
            if isinstance(tangents, Exception):
                session.notes.append(f"jvp raises {type(tangents).__name__}: {str(tangents).strip()[:120]}")
                return
            wrong += _jvp_is_wrong(session, problem, direction, tangents)
        if wrong == 2:
            text = f"the forward-mode rule jvp is wrong for the tangent of input {i}"
            session.add("GC109", "jvp", text, input=i)
            return


def _pushed(problem: Problem, direction: list[Tensor]) -> list[Tensor]:
    """Tangents of the outputs for the tangents `direction` of the inputs."""
    values = problem.values
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(v.detach().clone(), d.to(v.dtype))  # type: ignore[no-untyped-call]
            for v, d in zip(values, direction, strict=True)
        ]
        args = problem.arguments(duals)
        flat = problem.raw(args)
        out = []
        for k in problem.outs:
            primal, tangent = forward_ad.unpack_dual(flat[k])  # type: ignore[no-untyped-call]
            out.append(torch.zeros_like(primal) if tangent is None else tangent.clone())
    return out


def _jvp_is_wrong(
    session: Session, problem: Problem, direction: list[Tensor], tangents: list[Tensor]
) -> bool:
    """Judge <v, tangents> against differences by handing `judge` a gradient with the same pairing."""
    values = problem.values
    v = session.draws.cotangent(tangents)
    claimed = pairing(v, tangents)
    power = sum(inner(d, d) for d in direction)
    equivalent = [(wide(d) * (claimed / power)) for d in direction]
    return judge(problem, values, direction, [(v, list(equivalent))])[0].wrong


def check_vmap(session: Session) -> None:
    """Compare `torch.func.vmap` with a loop, for every choice of batched inputs and batch axes."""
    klass = session.target.cls
    if klass is None or not (overrides(klass, "vmap") or getattr(klass, "generate_vmap_rule", False)):
        return
    problem = session.problem
    tensors = [i for i, x in enumerate(problem.leaves) if isinstance(x, Tensor)]
    for chosen, axes in _choices(tensors, problem):
        batches = _batches(session, problem, chosen)
        looped = quiet(lambda b=batches: [problem.raw(leaves) for leaves in b])  # type: ignore[misc]
        if isinstance(looped, Exception):
            continue
        outcome = quiet(lambda b=batches, c=chosen, a=axes: _batched(problem, b, c, a))  # type: ignore[misc]
        if isinstance(outcome, Exception):
            said = f"vmap raises {type(outcome).__name__}: {str(outcome).strip()[:120]}"
            session.notes += [said] if said not in session.notes else []
            continue
        if not _equal(looped, outcome):
            text = f"vmap over axes {list(axes)} of arguments {list(chosen)} differs from a loop"
            session.add("GC110", "vmap", text, arguments=list(chosen), axes=list(axes))
            return


def _choices(tensors: list[int], problem: Problem) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Batched arguments and the batch axis of each: all of them and each alone, along the first axis, the
    second one, and in turns.
    """
    for chosen in [tuple(tensors), *((i,) for i in tensors if len(tensors) > 1)]:
        ranks = [problem.leaves[i].dim() for i in chosen]
        wanted = ([0] * len(chosen), [1] * len(chosen), [k % 2 for k in range(len(chosen))])
        for axes in dict.fromkeys(tuple(map(min, choice, ranks)) for choice in wanted):
            yield chosen, axes


def _batches(session: Session, problem: Problem, chosen: tuple[int, ...], size: int = 3) -> list[list[Any]]:
    """`size` argument lists that differ in the chosen tensors only."""
    out: list[list[Any]] = [[x.detach() if isinstance(x, Tensor) else x for x in problem.leaves]]
    for _ in range(size - 1):
        leaves = list(out[0])
        for i in chosen:
            leaves[i] = session.draws.jitter(leaves[i], 0.2) if leaves[i].is_floating_point() else leaves[i]
        out.append(leaves)
    return out


def _batched(
    problem: Problem, batches: list[list[Any]], chosen: tuple[int, ...], axes: tuple[int, ...]
) -> list[Tensor]:
    stacked = [torch.stack([b[i] for b in batches], axis) for i, axis in zip(chosen, axes, strict=True)]

    def call(*tensors: Tensor) -> tuple[Tensor, ...]:
        leaves = list(batches[0])
        for i, t in zip(chosen, tensors, strict=True):
            leaves[i] = t
        args, kwargs = problem.build(leaves)
        problem.shared.count.forwards += 1
        return tuple(y for y in flatten(problem.call(*args, **kwargs))[0] if isinstance(y, Tensor))

    return list(torch.func.vmap(call, in_dims=axes)(*stacked))


def _equal(looped: list[list[Any]], batched: list[Tensor]) -> bool:
    columns = [
        torch.stack([row[k] for row in looped])
        for k in range(len(looped[0]))
        if isinstance(looped[0][k], Tensor)
    ]
    for a, b in zip(columns, batched, strict=True):
        if a.shape != b.shape:
            return False
        size = float(a.abs().max()) if a.numel() else 0.0
        eps = torch.finfo(a.dtype).eps if a.is_floating_point() or a.is_complex() else 0.0
        if not bool(
            ((a - b).abs() <= min(1e5 * eps, max(1e-4, 8 * eps)) * size).all()
            or (torch.equal(torch.isnan(a), torch.isnan(b)) and bool(torch.isnan(a).any()))
        ):
            return False
    return True
