"""The same outputs and gradients under the modes that training code switches on; checked on request only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gradcheck_tool.gradcheck.compare import dense
from gradcheck_tool.gradcheck.probes import Cotangent, like_contiguous
from gradcheck_tool.gradcheck.problem import Problem
from gradcheck_tool.gradcheck.session import Session, quiet
from gradcheck_tool.gradcheck.stencil import coarsest
from gradcheck_tool.gradcheck.streams import late_inputs, late_outputs

Results = list[Tensor | None]
"""The outputs, then the gradients."""

_Run = Callable[[Problem, Cotangent], Results]

_HALF = (torch.float16, torch.bfloat16)
_REPEATS = 3
"""Plain runs that show by how much results differ anyway, as atomic sums do."""
_EXACT = 1e-3
"""Where rounding explains more, it may be all that is left of an output in which numbers cancel."""
_NOISY = 8.0
"""Times that difference may be exceeded under a mode."""


def _plain(problem: Problem, cotangent: Cotangent) -> Results:
    leaves, outputs = problem.graph(problem.values)
    kept: Results = [y.detach().clone() for y in outputs]
    return [*kept, *problem.pull(leaves, outputs, like_contiguous(cotangent))]


def _saved_hooks(problem: Problem, cotangent: Cotangent) -> Results:
    """Saved tensors are packed as copies and unpacked as other copies, as offloading does."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t.clone()):
        return _plain(problem, cotangent)


def _checkpointed(problem: Problem, cotangent: Cotangent) -> Results:
    def call(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(problem.call, *args, use_reentrant=False, **kwargs)

    return _plain(problem.with_call(call), cotangent)


def _autocast(problem: Problem, cotangent: Cotangent) -> Results:
    """With float32 inputs, as training under autocast has them; with half precision where that was given."""
    narrow = problem if coarsest(problem.values) in _HALF else problem.cast(torch.float32)
    with torch.autocast(problem.values[0].device.type, dtype=torch.bfloat16):
        _, outputs = narrow.graph(narrow.values)
    sent = [None if v is None else v.to(y.dtype) for v, y in zip(cotangent, outputs, strict=True)]

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(problem.values[0].device.type, dtype=torch.bfloat16):
            return narrow.call(*args, **kwargs)

    return _plain(narrow.with_call(call), sent)


def _compiled(problem: Problem, cotangent: Cotangent) -> Results:
    return _plain(problem.with_call(torch.compile(problem.call, backend="aot_eager")), cotangent)


MODES: dict[str, tuple[tuple[_Run, ...], float]] = {
    "saved_hooks": ((_saved_hooks,), 1e-10),
    "checkpoint": ((_checkpointed,), 1e-10),
    "autocast": ((_autocast,), 0.1),
    "compile": ((_compiled,), 1e-6),
    "stream": ((late_inputs, late_outputs), 1e-6),
}
"""Name of a mode -> how to run under it, and the relative difference (of norms) that rounding explains."""


def check(session: Session) -> None:
    """Compare outputs and gradients under each chosen mode with the plain ones.

    Raises:
        ValueError: for a mode that does not exist.
    """
    chosen = session.options.modes
    for name in chosen:
        if name not in MODES:
            raise ValueError(f"unknown mode {name!r}; choose from {', '.join(MODES)}")
    if not chosen:
        return
    problem = session.problem
    cotangent = session.draws.cotangent(problem.base)
    likes = [*problem.base, *problem.values]
    first, *others = (_plain(problem, cotangent) for _ in range(_REPEATS))
    noise = [max(_apart(a, other[k], likes[k]) for other in others) for k, a in enumerate(first)]
    for name in chosen:
        runs, slack = MODES[name]
        if name == "stream" and problem.values[0].device.type != "cuda":
            continue  # there are no streams
        for run in runs:
            got = quiet(lambda run=run: run(problem, cotangent))  # type: ignore[misc]
            if isinstance(got, Exception):
                text = f"the Function raises under {name}: {str(got).strip()[:200]}"
                session.add("GC210", "crash", text, mode=name, predicts=str(got))
                break
            away = [_apart(a, b, like) for a, b, like in zip(first, got, likes, strict=True)]
            changed = [far > slack + _NOISY * usual for far, usual in zip(away, noise, strict=True)]
            _tell(session, name, changed, outputs=slack <= _EXACT)


def _tell(session: Session, name: str, changed: list[bool], *, outputs: bool) -> None:
    """Report which outputs, if asked for, and gradients a mode changes; `changed` is as `Results` are."""
    count = len(session.problem.base)
    for k in range(count):
        if outputs and changed[k]:
            session.add("GC210", "unknown", f"output {k} changes under {name}", output=k, mode=name)
    for i in range(len(session.problem.values)):
        if changed[count + i] and i not in session.wrong_inputs():
            text = f"the gradient of input {i} changes under {name}"
            session.add("GC210", "unknown", text, input=i, mode=name)


def _apart(a: Tensor | None, b: Tensor | None, like: Tensor) -> float:
    """The relative difference of norms; infinite where `b` is not finite and `a` is."""
    x, y = dense(a, like), dense(b, like)
    usable = torch.isfinite(x.abs())
    if not bool(torch.isfinite(y.abs())[usable].all()):
        return float("inf")
    x, y = x[usable], y[usable]
    size = float(x.abs().square().sum().sqrt())
    return float((x - y).abs().square().sum().sqrt()) / (size or 1.0)
