"""The same gradient under the modes that training code switches on; each is checked on request only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from gradcheck_tool.gradcheck.compare import dense, gradients
from gradcheck_tool.gradcheck.probes import Cotangent, like_contiguous
from gradcheck_tool.gradcheck.problem import Grads, Problem
from gradcheck_tool.gradcheck.session import Session, quiet

_Run = Callable[[Problem, Cotangent], Grads]


def _plain(problem: Problem, cotangent: Cotangent) -> Grads:
    return problem.vjp(problem.values, like_contiguous(cotangent))


def _saved_hooks(problem: Problem, cotangent: Cotangent) -> Grads:
    """Saved tensors are packed as copies and unpacked as other copies, as offloading does."""
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t.clone()):
        return _plain(problem, cotangent)


def _checkpointed(problem: Problem, cotangent: Cotangent) -> Grads:
    def call(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(problem.call, *args, use_reentrant=False, **kwargs)

    return _plain(problem.with_call(call), cotangent)


def _autocast(problem: Problem, cotangent: Cotangent) -> Grads:
    narrow = problem.cast(torch.float32)
    with torch.autocast(problem.values[0].device.type, dtype=torch.bfloat16):
        _, outputs = narrow.graph(narrow.values)
    sent = [None if v is None else v.to(y.dtype) for v, y in zip(cotangent, outputs, strict=True)]

    def call(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(problem.values[0].device.type, dtype=torch.bfloat16):
            return narrow.call(*args, **kwargs)

    return _plain(narrow.with_call(call), sent)


def _compiled(problem: Problem, cotangent: Cotangent) -> Grads:
    return _plain(problem.with_call(torch.compile(problem.call, backend="aot_eager")), cotangent)


def _other_stream(problem: Problem, cotangent: Cotangent) -> Grads:
    """Forward and backward on a CUDA stream of their own; the plain run where there is no device."""
    device = problem.values[0].device
    if device.type != "cuda":
        return _plain(problem, cotangent)
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        got = _plain(problem, cotangent)
    torch.cuda.synchronize(device)
    return got


MODES: dict[str, tuple[_Run, float]] = {
    "saved_hooks": (_saved_hooks, 1e-10),
    "checkpoint": (_checkpointed, 1e-10),
    "autocast": (_autocast, 0.1),
    "compile": (_compiled, 1e-6),
    "stream": (_other_stream, 1e-6),
}
"""Name of a mode -> how to run under it and the relative difference (of norms) that rounding explains."""


def check(session: Session) -> None:
    """Compare the gradients under each chosen mode with the plain ones.

    Raises:
        ValueError: for a mode that does not exist.
    """
    problem = session.problem
    cotangent = session.draws.cotangent(problem.base)
    for name in session.options.modes:
        if name not in MODES:
            raise ValueError(f"unknown mode {name!r}; choose from {', '.join(MODES)}")
        run, slack = MODES[name]
        expected = gradients(problem, cotangent)
        got = quiet(lambda run=run: run(problem, cotangent))  # type: ignore[misc]
        if isinstance(got, Exception):
            text = f"the Function raises under {name}: {str(got).strip()[:200]}"
            session.add("GC210", "crash", text, mode=name, predicts=str(got))
            continue
        for i, (a, b) in enumerate(zip(expected, got, strict=True)):
            if i not in session.wrong_inputs() and _apart(a, b, problem.values[i]) > slack:
                session.add(
                    "GC210", "unknown", f"the gradient of input {i} changes under {name}", input=i, mode=name
                )


def _apart(a: Tensor | None, b: Tensor | None, like: Tensor) -> float:
    x, y = dense(a, like), dense(b, like)
    size = float(x.abs().square().sum().sqrt())
    return float((x - y).abs().square().sum().sqrt()) / (size or 1.0)
