"""The first calls of a check: what the Function does to arguments and process, and whether it runs at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck.compare import remember
from gradcheck_tool.gradcheck.dress import dressed
from gradcheck_tool.gradcheck.observed import Observation, observed
from gradcheck_tool.gradcheck.probes import Cotangent, like_contiguous
from gradcheck_tool.gradcheck.problem import Grads, Problem, copied, identical, is_real_number
from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.solvers import Lines, counted
from gradcheck_tool.gradcheck.surrogates import unchecked_write
from gradcheck_tool.gradcheck.target import function_behind
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.gradcheck.world import OWN_SEED, World
from gradcheck_tool.gradcheck.writes import is_freed


@dataclass(frozen=True)
class FirstCall:
    """The first call: what it was given, the flat outputs, and the Function class behind them."""

    given: list[Any]
    flat: list[Any]
    klass: Any
    lines: Lines
    """How often lines of the user's code were run."""


def first_call(session: Session) -> FirstCall | None:
    """Call once with a graph; None if it raises."""
    shared = session.problem.shared
    shared.rng.seed(OWN_SEED, force=True)
    before = World.now()
    outcome, lines = shared.rng.observe(
        lambda: counted(lambda: quiet(lambda: _call_fresh(session))), OWN_SEED
    )
    if isinstance(outcome, RuntimeError) and "leaf" in str(outcome) and not shared.copies:
        shared.copies = True
        outcome = shared.rng.observe(lambda: quiet(lambda: _call_fresh(session)), OWN_SEED)
    tell_changes(session, before, before.changed(), "forward")
    if isinstance(outcome, Exception):
        session.add(
            "GC302",
            "crash",
            f"forward raises {type(outcome).__name__}: {short(outcome)}",
            predicts=str(outcome),
            by="forward",
        )
        return None
    given, flat = outcome
    klass = next((k for y in flat if isinstance(y, Tensor) and (k := function_behind(y)) is not None), None)
    return FirstCall(given, flat, klass, lines)


def tell_changes(session: Session, before: World, names: list[str], by: str) -> None:
    """Report what a call has set for the whole process, and put it back, after this and every other call."""
    if names:
        before.put_back()
        session.problem.shared.world = before
        text = f"{by} changes the {' and the '.join(names)} of the whole process"
        session.add("GC212", "leak", text, by=by, changed=names)


def short(error: BaseException) -> str:
    """The first line of what was raised."""
    return str(error).strip().split("\n")[0][:300]


def _call_fresh(session: Session) -> tuple[list[Any], list[Any]]:
    """Call with copies of all tensors, and report those that the call changed without saying so; the copies
    and the flat outputs.
    """
    problem = session.problem
    fresh: list[Any] = []
    for position, leaf in enumerate(problem.leaves):
        if not isinstance(leaf, Tensor) or leaf.layout != torch.strided:
            fresh.append(leaf)
            continue
        tensor = leaf.detach().clone()
        if position in problem.wrt:
            tensor.requires_grad_()
            tensor = copied(tensor) if problem.shared.copies else tensor
        fresh.append(tensor)
    args, kwargs = problem.build(dressed(fresh, problem.shared.worn))
    problem.shared.count.forwards += 1
    with torch.enable_grad():
        flat = flatten(problem.call(*args, **kwargs))[0]
    for position, (before, after) in enumerate(zip(problem.leaves, fresh, strict=True)):
        if before is after or not isinstance(before, Tensor):
            continue
        if is_freed(after):
            _note_freed(session, position)
            continue
        if identical(before.detach(), after.detach()):
            continue
        problem.shared.copies = True
        marked = any(y is after for y in flat if isinstance(y, Tensor)) and after.grad_fn is not None
        if position in problem.wrt and not marked:
            index = problem.wrt.index(position)
            said = unchecked_write(session.klass)
            session.add(
                "GC201",
                "mutates-input",
                f"forward changes input {index} in place without ctx.mark_dirty"
                + (f"; a comment says {said!r}" if said else ""),
                severity=Severity.INFO if said else None,
                by="forward",
                input=index,
                argument=position,
            )
    return fresh, flat


def _note_freed(session: Session, position: int) -> None:
    """Reversible Functions give the memory of their input back, and compute it again in backward."""
    shared = session.problem.shared
    shared.copies = shared.frees = True
    index = session.problem.wrt.index(position) if position in session.problem.wrt else None
    text = f"forward frees the memory of argument {position}: nothing else may use that tensor"
    session.add(
        "GC201", "mutates-input", text, severity=Severity.INFO, by="forward", input=index, argument=position
    )


def one_run(problem: Problem, cotangent: Cotangent, seed: int) -> tuple[list[Tensor], Grads]:
    """Outputs and gradients on a graph of its own, with random states of `seed` before the backward."""
    leaves, outputs = problem.graph(problem.values)
    kept = [y.detach().clone() for y in outputs]
    problem.shared.rng.seed(seed, force=True)
    return kept, problem.pull(leaves, outputs, like_contiguous(cotangent))


def backward_works(session: Session) -> bool:
    """Whether a plain backward runs; if not, says why."""
    problem = session.problem
    cotangent = session.cotangent(problem)
    given = problem.with_values([copied(v) for v in problem.values])
    before = World.now()
    outcome = quiet(lambda: one_run(given, cotangent, 0))
    tell_changes(session, before, [name for name in before.changed() if name != "seed"], "backward")
    changed = [
        i for i, (a, b) in enumerate(zip(problem.values, given.values, strict=True)) if not identical(a, b)
    ]
    if changed:
        problem.shared.copies = True
        text = f"backward overwrites input {changed[0]}: nothing else may use that tensor after the forward"
        session.add("GC201", "mutates-input", text, severity=Severity.INFO, input=changed[0])
    if not isinstance(outcome, Exception):
        session.first = (problem, *outcome)
        remember(problem, cotangent, outcome[1])
        return True
    text = short(outcome)
    if session.sparse:
        session.add("GC303", "unknown", f"an output is sparse and cannot be left out of the loss: {text}")
        return False
    word, code = "crash", "GC206"
    message = f"backward raises {type(outcome).__name__}: {text}"
    if session.target.cls is not None:
        seen = observe(session, problem, cotangent)
        slots = _misplaced(seen, problem)
        if slots is not None:
            word, code, message = "swapped", "GC211", slots
        elif "invalid gradient" in text and "shape" in text:
            word, code = "broadcast", "GC211"
            message = f"backward returns a gradient of the wrong shape (a broadcast not summed over?): {text}"
    session.conclude(range(len(session.verdicts)), "wrong")
    session.add(code, word, message, predicts=str(outcome))
    return False


def _misplaced(seen: Observation | None, problem: Problem) -> str | None:
    """A gradient returned in the place of an argument that cannot have one."""
    if seen is None or seen.raw is None:
        return None
    for position, gradient in enumerate(seen.raw):
        if (
            gradient is not None
            and position < len(problem.leaves)
            and not is_real_number(problem.leaves[position])
        ):
            missing = [p for p in problem.wrt if p < len(seen.raw) and seen.raw[p] is None]
            if missing:
                where = f"argument {missing[0]} in the place of argument {position}"
                return f"backward returns the gradient of {where}"
    return None


def observe(
    session: Session, problem: Problem, cotangent: Cotangent, needs: list[bool] | None = None
) -> Observation | None:
    """What backward was given and returned, as it returned it; None where there is no class to watch."""
    if session.target.cls is None:
        return None
    klass, seen = observed(session.target.cls)
    quiet(lambda: problem.with_call(klass.apply).vjp(problem.values, like_contiguous(cotangent), needs))
    return seen
