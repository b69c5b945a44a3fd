"""The rules of `autograd.Function` that hold whatever the algebra is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import sampling
from gradcheck_tool.gradcheck.arguments import other_numbers
from gradcheck_tool.gradcheck.compare import gradients_once
from gradcheck_tool.gradcheck.firstcall import observe, one_run, short
from gradcheck_tool.gradcheck.layouts import Backward, check_cotangent_layouts, check_input_layouts
from gradcheck_tool.gradcheck.limits import patiently
from gradcheck_tool.gradcheck.observed import observed
from gradcheck_tool.gradcheck.probes import Cotangent, like_contiguous, one_output
from gradcheck_tool.gradcheck.problem import ROUNDING, Grads, Problem, identical, is_real_number
from gradcheck_tool.gradcheck.rehearsal import may_run
from gradcheck_tool.gradcheck.session import Session, finite, quiet
from gradcheck_tool.gradcheck.stencil import wide
from gradcheck_tool.gradcheck.surrogates import unchecked_write
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.gradcheck.writes import watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gradcheck_tool.gradcheck.observed import Observation


Graph = tuple[list[Tensor], list[Tensor]]
"""Leaves and the outputs computed from them."""


def check_hidden_writes(session: Session) -> None:
    """Report a write of forward to a tensor that the caller's code, a lambda with a clone, has hidden."""
    if session.target.cls is not None or session.klass is None:
        return
    problem = session.problem
    with watched(session.klass) as writes:
        quiet(lambda: problem.graph(problem.values))
    said = unchecked_write(session.klass)
    for write in writes:
        if not write.marked:
            session.add(
                "GC201",
                "mutates-input",
                f"forward of {session.klass.__name__} changes its argument {write.position} in place without "
                "ctx.mark_dirty",
                severity=Severity.INFO if said else None,
                argument=write.position,
            )


def is_deterministic(session: Session) -> bool:
    """Whether the same call gives the same result, up to rounding; reports it if not.

    The random state is the same before both forwards and different before the backwards.
    """
    problem = session.problem
    cotangent = session.cotangent(problem)
    known = session.first
    first = known[1:] if known and known[0] is problem else one_run(problem, cotangent, 0)
    second = one_run(problem, cotangent, 12345)
    if any(not _close(a, b, 1e3) for a, b in zip(first[0], second[0], strict=True)):
        _nondeterministic(session, "forward gives different outputs for the same inputs and random state")
        return False
    if _same_gradients(first[1], second[1], 1e3):
        return True
    third = one_run(problem, cotangent, 0)
    if _same_gradients(first[1], third[1], 1e3):
        sampling.check(session, cotangent)
    else:
        _nondeterministic(session, "backward gives different gradients for the same inputs and random state")
    return False


def _nondeterministic(session: Session, message: str) -> None:
    session.conclude(range(len(session.verdicts)), "wrong")
    session.add("GC301", "nondeterministic", message)


def _close(a: Tensor, b: Tensor, slack: float, least: float = 0.0) -> bool:
    if a.shape != b.shape:
        return False
    if identical(a, b):
        return True
    x, y = wide(a), wide(b)
    eps = _rounding(x, y, a.dtype) if is_real_number(a) else 0.0
    gap = torch.nan_to_num((x - y).abs())
    size = torch.nan_to_num(x.abs(), posinf=0.0)
    spread = float(size.max()) if size.numel() else 0.0
    same_holes = bool((torch.isnan(x.abs()) == torch.isnan(y.abs())).all())
    return same_holes and bool((gap <= min(max(slack * eps, least), 0.1) * spread).all())


def _rounding(x: Tensor, y: Tensor, dtype: torch.dtype) -> float:
    """The rounding error of numbers of a dtype: in double precision that of float32 where they have no more
    digits. What is computed in float32 is added up atomically there, whatever the dtype of the arguments.
    """
    single = dtype is torch.float64 and all(torch.equal(n, n.float().double()) for n in (x, y))
    return float(torch.finfo(torch.float32 if single else dtype).eps)


def _same_gradients(a: Grads, b: Grads, slack: float, least: float = 0.0) -> bool:
    for x, y in zip(a, b, strict=True):
        if (x is None) != (y is None):
            return False
        if x is not None and y is not None and not _close(x, y, slack, least):
            return False
    return True


def check(session: Session) -> None:
    """All contract checks, each on a graph of its own, in the dtype that was given."""
    check_hidden_writes(session)
    problem = session.native
    if not finite(problem.base):
        return
    cotangent = session.cotangent(problem)
    backward = _backwards(session, problem, cotangent)
    if not session.steady:
        return
    check_cotangent_layouts(session, problem, cotangent, backward)
    if not session.spared:
        check_input_layouts(session, problem)
    _subsets(session, problem, cotangent)
    _unused_outputs(session, cotangent, backward)
    _interleaved(session, problem, cotangent)
    _sizes(session, problem)


def _backwards(session: Session, problem: Problem, cotangent: Cotangent) -> Backward:
    """Two backward calls through one graph: what they do to the incoming gradient, what they return, whether
    they return the same. The function from cotangents to gradients uses that graph again if they do.
    """
    klass, seen = observed(session.target.cls) if session.target.cls is not None else (None, None)
    watching = problem if klass is None else problem.with_call(klass.apply)
    made = quiet(lambda: watching.graph(problem.values))
    if isinstance(made, Exception):
        seen, made = None, problem.graph(problem.values)
    graph: Graph = made
    _kept_alive(session, graph[1])
    sent = like_contiguous(cotangent)
    first = quiet(lambda: problem.pull(graph[0], graph[1], sent, retain=True))
    _cotangent_kept(session, cotangent, sent)
    if seen is not None and seen.raw is not None:
        _raw_returns(session, problem, seen)
    if (
        session.steady
        and not isinstance(first, Exception)
        and _twice(session, problem, cotangent, graph, first)
    ):
        return lambda given: problem.pull(graph[0], graph[1], given, retain=True)
    return lambda given: problem.vjp(problem.values, given)


def _cotangent_kept(session: Session, cotangent: Cotangent, sent: Cotangent) -> None:
    for k, (before, after) in enumerate(zip(cotangent, sent, strict=True)):
        if before is not None and after is not None and not identical(before, after):
            session.add(
                "GC202",
                "mutates-cotangent",
                f"backward changes the incoming gradient of output {k} in place",
                output=k,
            )


def _raw_returns(session: Session, problem: Problem, seen: Observation) -> None:
    raw = seen.raw or ()
    arguments = [(p, g) for p, g in enumerate(raw) if isinstance(g, Tensor) and p in problem.wrt]
    for position, gradient in arguments:
        leaf = problem.leaves[position]
        index = problem.wrt.index(position)
        if gradient.is_floating_point() == leaf.is_floating_point() and is_real_number(gradient):
            coarse = torch.finfo(gradient.dtype).eps > torch.finfo(leaf.dtype).eps
        else:
            coarse = not is_real_number(gradient)
        if coarse:
            text = (
                f"the gradient of input {index} is {gradient.dtype}, the input {leaf.dtype}: digits are lost"
            )
            session.add("GC204", "dtype", text, input=index, argument=position)
    for n, (position, gradient) in enumerate(arguments):
        for other, again in arguments[n + 1 :]:
            if _overlap(gradient, again):
                i, j = problem.wrt.index(position), problem.wrt.index(other)
                what = (
                    " (the incoming gradient itself)"
                    if any(_overlap(gradient, c) for c in seen.cotangents)
                    else ""
                )
                text = f"the gradients of inputs {i} and {j} share memory{what}: they change together"
                session.add("GC203", "aliased", text, input=i, other_input=j)
                return


def _overlap(a: Tensor | None, b: Tensor | None) -> bool:
    if a is None or b is None or a.layout != torch.strided or b.layout != torch.strided or not a.numel():
        return False
    return a.device == b.device and a.device.type != "meta" and a.data_ptr() == b.data_ptr()


def _kept_alive(session: Session, outputs: list[Tensor]) -> None:
    """Whether the graph node holds an output as an attribute, which holds the node."""
    for k, y in enumerate(outputs):
        node = y.grad_fn
        held = flatten(list(getattr(node, "__dict__", {}).values()))[0] if node is not None else []
        if any(isinstance(t, Tensor) and t.grad_fn is node for t in held):
            session.add(
                "GC205",
                "leak",
                f"output {k} is an attribute of ctx and keeps itself alive; use ctx.save_for_backward",
                output=k,
            )
            return


def _subsets(session: Session, problem: Problem, cotangent: Cotangent) -> None:
    """Every input alone, and all but one, must get the gradient it gets when all require grad."""
    count = len(problem.wrt)
    if count < 2:
        return
    everything = gradients_once(problem, cotangent)
    patterns = [[k == i for k in range(count)] for i in range(count)]
    patterns += [[k != i for k in range(count)] for i in range(count)] if 2 < count <= 6 else []
    raised: set[str] = set()
    for needs in patterns:
        graph = quiet(lambda needs=needs: problem.graph(problem.values, needs))  # type: ignore[misc]
        if isinstance(graph, Exception):
            session.skipped += 1  # forward refuses that call
            continue
        got = quiet(lambda g=graph: problem.pull(g[0], g[1], like_contiguous(cotangent)))  # type: ignore[misc]
        asked = [i for i, n in enumerate(needs) if n]
        if isinstance(got, Exception):
            text = f"backward raises when only inputs {asked} require grad: {short(got)}"
            if str(got) not in raised:
                session.add("GC206", "crash", text, input=asked[0], predicts=str(got))
            raised.add(str(got))
            continue
        for i in asked:
            if i in session.wrong_inputs() or _same_gradients([everything[i]], [got[i]], 1e4, ROUNDING):
                continue
            word = "none" if got[i] is None else "zero" if not bool((got[i] != 0).any()) else "unknown"
            how = "missing" if word != "unknown" else "different"
            text = f"the gradient of input {i} is {how} when only inputs {asked} require grad"
            session.add("GC111", word, text, input=i, requires_grad=asked)
    _unneeded(session, problem, cotangent)


def _unneeded(session: Session, problem: Problem, cotangent: Cotangent) -> None:
    needs = [i == 0 for i in range(len(problem.wrt))]
    seen = observe(session, problem, cotangent, needs)
    if seen is None or seen.raw is None:
        return
    extra = [p for p, g in enumerate(seen.raw) if p in problem.wrt[1:] and g is not None]
    if extra:
        inputs = [problem.wrt.index(p) for p in extra]
        session.notes.append(
            f"backward computes the gradients of inputs {inputs} also when they do not require grad"
        )


def _unused_outputs(session: Session, cotangent: Cotangent, backward: Backward) -> None:
    """A loss that uses one output only: the other incoming gradients are zeros or None."""
    if len(cotangent) < 2:
        return
    for k in range(len(cotangent)):
        alone: Cotangent = [v if n == k else None for n, v in enumerate(cotangent)]
        got = quiet(lambda alone=alone: backward(like_contiguous(alone)))  # type: ignore[misc]
        if isinstance(got, Exception):
            text = f"backward raises when only output {k} is used by the loss: {short(got)}"
            session.add("GC206", "crash", text, output=k, predicts=str(got))
            continue
        zeros = quiet(lambda k=k: backward(like_contiguous(one_output(cotangent, k))))  # type: ignore[misc]
        if isinstance(zeros, Exception):
            continue
        for i, (a, b) in enumerate(zip(got, zeros, strict=True)):
            pair = [torch.zeros_like(session.native.values[i]) if g is None else g for g in (a, b)]
            if i not in session.wrong_inputs() and not _same_gradients(pair[:1], pair[1:], 1e4, ROUNDING):
                text = f"the gradient of input {i} differs between unused outputs and zero gradients for them"
                session.add("GC101", "output-ignored", text, input=i, output=k)


def _twice(
    session: Session,
    problem: Problem,
    cotangent: Cotangent,
    graph: Graph,
    first: Grads,
) -> bool:
    """Whether a second backward through the same graph gives exactly what the first one gave."""
    first = [None if g is None else g.clone() for g in first]
    second = quiet(lambda: problem.pull(graph[0], graph[1], like_contiguous(cotangent), retain=True))
    if isinstance(second, Exception):
        text = f"a second backward through the same graph raises {type(second).__name__}: {short(second)}"
        session.add("GC207", "crash", text, predicts=str(second))
    elif not _same_gradients(first, second, 1e4, ROUNDING):
        text = "a second backward through the same graph gives another gradient"
        session.add("GC207", "unknown", text, severity=Severity.INFO)
    else:
        pairs = zip(first, second, strict=True)
        return all(a is None or b is None or identical(a, b) for a, b in pairs)
    return False


def _interleaved(session: Session, problem: Problem, cotangent: Cotangent) -> None:
    """Another call between forward and backward must not change the gradient."""
    if problem.shared.held:
        return  # the other call changes what the first one's module holds
    expected = gradients_once(problem, cotangent)
    for other in _calls_between(session, problem):
        if not may_run(session, other):
            continue
        leaves, outputs = problem.graph(problem.values)
        between = quiet(lambda other=other: other.graph(other.values))  # type: ignore[misc]
        if isinstance(between, Exception):
            continue
        got = quiet(lambda x=leaves, y=outputs: problem.pull(x, y, like_contiguous(cotangent)))  # type: ignore[misc]
        if isinstance(got, Exception) or not _same_gradients(expected, got, 1e4, ROUNDING):
            session.add(
                "GC208",
                "wrong-saved-tensor",
                "another call between forward and backward changes the gradient: state is shared between "
                "calls instead of kept on ctx",
            )
            return


def _calls_between(session: Session, problem: Problem) -> Iterator[Problem]:
    """Calls with other values of the inputs, then with another flag or number, too."""
    moved = problem.with_values([session.draws.jitter(v, 0.5) for v in problem.values])
    yield moved
    for position, leaf in enumerate(moved.leaves):
        for other in other_numbers(leaf)[:1] if not session.kernel else ():
            yield moved.with_leaves([*moved.leaves[:position], other, *moved.leaves[position + 1 :]])


def _sizes(session: Session, problem: Problem) -> None:
    """No samples, and numbers without axes: what forward accepts, backward should not refuse."""
    tensors = [leaf for leaf in problem.leaves if isinstance(leaf, Tensor)]
    if session.kernel or not all(t.layout == torch.strided and t.dim() and t.numel() for t in tensors):
        return
    if len({t.shape[0] for t in tensors}) == 1:
        _accepted_by_backward(session, problem, "a batch without samples", lambda t: t[:0])
    _accepted_by_backward(session, problem, "scalars", lambda t: t.reshape(-1)[0])


def _accepted_by_backward(
    session: Session, problem: Problem, what: str, resized: Callable[[Tensor], Tensor]
) -> None:
    leaves = [resized(leaf.detach()) if isinstance(leaf, Tensor) else leaf for leaf in problem.leaves]
    other = problem.with_leaves(leaves)
    outcome = patiently(lambda: other.graph(other.values)) if may_run(session, other) else None
    if outcome is None or isinstance(outcome, Exception):
        session.skipped += 1
        return
    inputs, outputs = outcome
    session.tried += 1
    raised = quiet(lambda: problem.pull(inputs, outputs, [torch.ones_like(y) for y in outputs]))
    if isinstance(raised, Exception):
        text = f"backward raises for {what}, which forward accepts: {short(raised)}"
        session.add("GC206", "crash", text, severity=Severity.INFO, predicts=str(raised))
