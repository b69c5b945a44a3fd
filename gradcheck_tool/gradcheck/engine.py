"""`check_function`: from a callable and its inputs to a report."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck import (
    contracts,
    forwardmode,
    heatmap,
    interpreted,
    lowprecision,
    modes,
    quickproof,
    secondorder,
    variations,
)
from gradcheck_tool.gradcheck.broken import broken_device
from gradcheck_tool.gradcheck.dress import dresses, undressed
from gradcheck_tool.gradcheck.firstcall import backward_works, first_call
from gradcheck_tool.gradcheck.fresh import Call
from gradcheck_tool.gradcheck.held import held_by_others, put_back
from gradcheck_tool.gradcheck.isolated import check_isolated
from gradcheck_tool.gradcheck.manifolds import PROJECTIONS, widened
from gradcheck_tool.gradcheck.names import argument_names
from gradcheck_tool.gradcheck.oracle import body_of, close, same_values
from gradcheck_tool.gradcheck.pointcheck import check_given
from gradcheck_tool.gradcheck.probes import Draws
from gradcheck_tool.gradcheck.problem import (
    LARGE,
    Evaluations,
    Problem,
    Shared,
    generators_of,
    is_real_number,
)
from gradcheck_tool.gradcheck.report import InputVerdict, Report
from gradcheck_tool.gradcheck.rng import RandomState, preserved
from gradcheck_tool.gradcheck.samples import Sample
from gradcheck_tool.gradcheck.session import Options, Session, Verdict, finite, quiet
from gradcheck_tool.gradcheck.shrink import is_large, shrunk
from gradcheck_tool.gradcheck.solvers import is_staircase
from gradcheck_tool.gradcheck.stencil import coarsest
from gradcheck_tool.gradcheck.target import Target
from gradcheck_tool.gradcheck.threads import one_thread
from gradcheck_tool.gradcheck.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def check_function(func: Any, inputs: Any, kwargs: Mapping[str, Any] | None = None, **options: Any) -> Report:
    """Check the gradient of `func` at `inputs` and at variations of them.

    Args:
        func: an `autograd.Function` class, its `apply`, or any callable that returns tensors.
        inputs: a tensor, a tuple of arguments (nested containers are searched for tensors), or a `Sample`.
        kwargs: keyword arguments of the call.
        **options: fields of `Options`: `reference` (a differentiable implementation with the same
            arguments), `seed`, `variations`, `contracts`, `second_order`, `forward_mode`, `vmap`, `modes`
            (any of "saved_hooks", "checkpoint", "autocast", "compile", "stream"), `surrogates` (qualified
            name -> reason), `manifold` (input number -> name or projection), `plots` (folder for PNG heat
            maps), `risky` (give native code other sizes, numbers and strides, too, at which it may end the
            process), `isolate` (check in a process of its own, with the risky calls: a Function that ends it,
            or breaks the device, is reported. Not the default, for neither debuggers nor coverage see
            what runs in it; by default, native code is called with nothing that may not fit), `builtin`
            (check PyTorch's own operators as thoroughly as custom Functions: without it, a callable made of
            them alone is checked at the given inputs only).

    Returns:
        A report; `report.ok` is false where a finding is an error.

    Raises:
        TypeError: for an option that does not exist, and for arguments that are given one by one.
        RuntimeError: for `isolate` where this process cannot be forked, as once CUDA is in use, and another
            one cannot have the Function and its arguments: they cannot be pickled.
    """
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise TypeError(f"kwargs is a {type(kwargs).__name__}; arguments go together: inputs=(x, y)")
    if isinstance(inputs, Sample):
        args, kwargs = inputs.args, {**inputs.kwargs, **(kwargs or {})}
    else:
        args = (
            inputs if isinstance(inputs, tuple) else tuple(inputs) if isinstance(inputs, list) else (inputs,)
        )
    chosen = Options(**options)
    target, named = Target.of(func), dict(kwargs or {})

    def check(chosen: Options) -> Report:
        with preserved(), _threads(args):
            return _check(target, args, named, chosen)

    if chosen.isolate:
        call = Call(func, args, named, replace(chosen, isolate=False))
        return check_isolated(target, lambda risky: check(replace(chosen, risky=risky)), call)
    return check(chosen)


def _threads(args: tuple[Any, ...]) -> AbstractContextManager[None]:
    small = sum(x.numel() for x in flatten(args)[0] if isinstance(x, Tensor)) <= LARGE
    return one_thread() if small else nullcontext()


def _check(target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options) -> Report:
    count = Evaluations()
    leaves, build = flatten([args, kwargs])
    generators = generators_of(target.cls, target.call, leaves)
    held = held_by_others(leaves)
    for position, tensor in held.items():
        leaves[position] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    worn = {p: worn for p, worn in dresses(leaves).items() if p not in held}
    for position in worn:
        leaves[position] = undressed(leaves[position])
    shared = Shared(count, RandomState(generators), held=held, worn=worn)
    wrt = tuple(
        i for i, x in enumerate(leaves) if is_real_number(x) and x.requires_grad and x.layout == torch.strided
    )
    if not wrt:
        wrt = tuple(i for i, x in enumerate(leaves) if is_real_number(x) and x.layout == torch.strided)
    problem = Problem(target.call, tuple(leaves), build, wrt, (), shared)
    session = Session(target, options, problem, problem, Draws(options.seed), target.cls)
    session.names = argument_names(target, args, kwargs)
    interpreted.prepare()
    before = interpreted.launches()
    with put_back(held), _device_watched(session):
        started = _start(session)
        if started and interpreted.launches() > before:
            _interpret(session)
        if started:
            _run(session)
    return _report(session)


@contextmanager
def _device_watched(session: Session) -> Iterator[None]:
    """Tell that the device can run nothing any more, in the place of all that its errors look like.

    What was found at the given inputs before it broke stands: then a derived input is at fault.
    """
    try:
        yield
    except Exception:
        if _broken(session) is None:
            raise
    if (why := _broken(session)) is None:
        return
    text = f"{session.target.name.rpartition('.')[2]} {why}"
    if session.given is None:
        session.findings, session.notes = [], []
        session.verdicts = [Verdict() for _ in session.verdicts]
        session.add("GC304", "crash", text)
    else:
        session.findings, session.verdicts, session.notes = session.given
        text += "; it was given derived inputs: another size, number, stride or value"
        session.add("GC304", "crash", text, severity=Severity.WARNING)


def _broken(session: Session) -> str | None:
    """How the devices of the arguments were left, if one can run nothing any more."""
    devices = {leaf.device for leaf in session.native.leaves if isinstance(leaf, Tensor)}
    return next((why for device in devices if (why := broken_device(device))), None)


def _start(session: Session) -> bool:
    """Run the forward once with a graph: learn the outputs and what the Function does to its arguments."""
    if not session.problem.wrt:
        session.add("GC303", "unknown", "no input is a floating-point or complex tensor")
        return False
    first = first_call(session)
    if first is None:
        return False
    flat = first.flat
    differentiable = [i for i, y in enumerate(flat) if isinstance(y, Tensor) and y.requires_grad]
    outs = tuple(i for i in differentiable if flat[i].layout == torch.strided)
    session.sparse = len(outs) < len(differentiable)
    session.native = Problem(
        session.problem.call,
        session.problem.leaves,
        session.problem.build,
        session.problem.wrt,
        outs,
        session.problem.shared,
    )
    session.problem = session.native
    session.klass = session.target.cls or first.klass
    session.loops, session.repeats = first.lines.loop, first.lines.repeated
    session.verdicts = [Verdict() for _ in session.problem.wrt]
    if not outs:
        session.add("GC303", "unknown", "no output requires grad: nothing to check")
        return False
    session.native.start([first.given[i] for i in session.native.wrt], [flat[i] for i in outs])
    for index, chosen in session.options.manifold.items():
        session.manifolds[index] = PROJECTIONS[chosen] if isinstance(chosen, str) else chosen
    return True


def _record_if_needed(problem: Problem) -> None:
    """Let a graph be recorded in every call where a call without one raises or computes something else.

    What was remembered of the first call is forgotten, but for such a comparison.
    """
    outputs = problem.base
    problem.forget()

    def alike() -> bool:
        again = problem.base
        return all(a.shape == b.shape and close(a, b) for a, b in zip(again, outputs, strict=True))

    if quiet(alike) is not True:
        problem.forget()
        problem.shared.recording = True
        problem.shared.recording = quiet(alike) is True
        if not problem.shared.recording:
            problem.forget()


def _interpret(session: Session) -> None:
    """Kernels run by Triton's interpreter are judged in float32: its half precision is not a GPU's."""
    session.interpreted = True
    session.notes.append(interpreted.NOTE)
    if coarsest(session.native.values) in (torch.float16, torch.bfloat16):
        session.problem = session.native = session.native.cast(torch.float32)


def _run(session: Session) -> None:
    thorough = session.klass is not None or session.options.builtin
    if not quickproof.proves(session) and not _judge_given(session):
        return
    if session.steady:
        if _broken(session) is None:
            verdicts = [replace(verdict) for verdict in session.verdicts]
            session.given = [*session.findings], verdicts, [*session.notes]
        if not session.spared:
            if session.options.more:
                _use_small(session)
            if session.options.variations:
                lowprecision.check_float32(session)
        if session.coarse:
            session.notes.append("half precision is too coarse for variations and the second derivative")
        elif thorough:
            _check_around(session)
        if session.options.forward_mode:
            forwardmode.check_jvp(session)
        if session.options.vmap:
            forwardmode.check_vmap(session)
    if session.steady:
        modes.check(session)
    if session.options.contracts and thorough:
        contracts.check(session)


def _judge_given(session: Session) -> bool:
    """Judge the gradient at the given inputs; whether there is one."""
    _record_if_needed(session.native)
    if not backward_works(session):
        return False
    session.problem = _widest(session.native)
    session.body = _oracle(session)
    session.steady = contracts.is_deterministic(session)
    if session.steady:
        if session.body is None and quiet(lambda: is_staircase(session.problem, session.draws)) is True:
            session.problem.shared.stairs = True
            session.notes.append("forward iterates until a tolerance: larger moves than that judged")
        check_given(session)
        lowprecision.check_entries(session)
    return True


def _check_around(session: Session) -> None:
    """Derived inputs and the second derivative."""
    if session.options.variations:
        variations.check(session)
    if session.options.second_order:
        secondorder.check(session)


def _use_small(session: Session) -> None:
    """Go on with a small call of the same kind where the given one is large."""
    if not is_large(session.problem) or (session.kernel and not session.interpreted):
        return
    small, native = shrunk(session, session.problem), shrunk(session, session.native)
    if small is None or native is None:
        return
    session.problem, session.native = (small, small) if session.problem is session.native else (small, native)
    session.notes.append("contracts and variations were checked on a part of the large inputs")


def _widest(native: Problem) -> Problem:
    """The call in double precision if the Function accepts it, else as given."""
    if coarsest(native.values) is torch.float64:
        return native
    wide = native.cast(torch.float64)
    wide = wide.with_values([widened(value) for value in native.values])
    outputs = quiet(lambda: (wide.base, native.base))
    if (
        isinstance(outputs, Exception)
        or not finite(outputs[0])
        or not all(map(close, outputs[1], outputs[0]))
    ):
        return native
    graph = quiet(lambda: wide.graph(wide.values)[1])
    if isinstance(graph, Exception) or not all(y.requires_grad for y in graph):
        return native
    cotangents = Draws(0).cotangent([y.detach() for y in graph])
    gradients = quiet(lambda: wide.vjp(wide.values, cotangents))
    if isinstance(gradients, Exception) or _is_rounded(gradients, coarsest(native.values)):
        return native
    return wide


def _is_rounded(gradients: Sequence[Tensor | None], dtype: torch.dtype) -> bool:
    """Whether double-precision gradients have no more digits than `dtype`, float16 or bfloat16."""
    if dtype is torch.float32:
        return False
    real = [g for g in gradients if g is not None and not g.is_complex() and bool((g != 0).any())]
    return any(torch.equal(g, g.to(dtype).to(g.dtype)) for g in real)


def _oracle(session: Session) -> Problem | None:
    """The best reference: the user's, else the body of forward, else None (finite differences)."""
    if session.options.reference is not None:
        reference = session.problem.with_call(session.options.reference)
        if same_values(session.problem, reference, session.cotangent(session.problem)):
            session.oracle = "reference"
            return reference
        session.notes.append("the reference does not compute the same outputs; it was not used")
    body = (
        None
        if session.problem.shared.frees
        else body_of(session.target, session.problem, session.cotangent(session.problem))
    )
    session.oracle = "forward body" if body is not None else "finite differences"
    return body


def _report(session: Session) -> Report:
    inputs: Sequence[InputVerdict] = [
        InputVerdict(i, v.word, session.oracle, v.factor, v.entry, session.name_of(i))
        for i, v in enumerate(session.verdicts)
    ]
    for v in inputs:
        if v.verdict == "inconclusive":
            session.add(
                "GC191",
                "unknown",
                f"input {v.index}: noise hides the signal, so the check is inconclusive",
                input=v.index,
            )
    heat = {i: v.heat.cpu() for i, v in enumerate(session.verdicts) if v.heat is not None}
    if session.options.plots is not None:
        for i, values in heat.items():
            heatmap.picture(values, session.options.plots, f"{session.target.name}.input{i}")
    return Report(
        function=session.target.name,
        findings=tuple(sorted(session.findings, key=lambda f: f.sort_key())),
        evaluations=session.problem.shared.count,
        inputs=tuple(inputs),
        oracle=session.oracle,
        skipped=session.skipped,
        tried=session.tried,
        notes=tuple(dict.fromkeys(map(session.named, session.notes))),
        heat=heat,
    )
