"""The same values in other memory layouts must give the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from gradcheck_tool.findings import Severity
from gradcheck_tool.gradcheck.compare import gradients_once, is_regular
from gradcheck_tool.gradcheck.probes import Cotangent, like_contiguous
from gradcheck_tool.gradcheck.problem import LARGE, ROUNDING, Grads, Problem, identical
from gradcheck_tool.gradcheck.session import Session, finite, quiet
from gradcheck_tool.gradcheck.stencil import wide

# By so many units of rounding an input is changed, to see whether its outputs say anything.
SHAKEN = 8.0
Layout = Callable[[Tensor], Tensor]
Backward = Callable[[Cotangent], Grads]


def transposed(value: Tensor) -> Tensor:
    """The same values, stored with the axes in reverse order."""
    order = list(range(value.dim()))[::-1]
    return value.detach().permute(order).clone(memory_format=torch.contiguous_format).permute(order)


def sliced(value: Tensor) -> Tensor:
    """The same values, every second element of a larger storage, with junk between and a storage offset."""
    if value.dim() == 0:
        return torch.stack([torch.full_like(value, 7), value.detach()])[1]
    room = torch.full((*value.shape[:-1], 2 * value.shape[-1] + 1), 7, dtype=value.dtype, device=value.device)
    view = room[..., 1::2]
    view.copy_(value.detach())
    return view


def expanded(value: Tensor, axis: int) -> Tensor:
    """The first slice along `axis`, repeated with stride zero."""
    return value.detach().narrow(axis, 0, 1).clone(memory_format=torch.contiguous_format).expand(value.shape)


def _layouts(value: Tensor) -> Iterator[tuple[str, Layout]]:
    """Names of layouts and functions into them; the expanded ones also change the values.

    Of large tensors the first two only.
    """
    if value.dim() >= 2:
        yield "transposed", transposed
    yield "a slice of a larger tensor", sliced
    if value.numel() > LARGE:
        return
    for axis in range(value.dim()):
        if value.shape[axis] > 1:
            yield f"expanded along axis {axis}", lambda t, axis=axis: expanded(t, axis)  # type: ignore[misc]
            break
    if value.dim() >= 1 and value.numel() > 1:
        yield (
            "a single value expanded",
            lambda t: t.detach().reshape(-1)[:1].clone().reshape([1] * t.dim()).expand(t.shape),
        )


def agree(a: Grads, b: Grads, usual: Grads) -> int | None:
    """The first input whose two gradients differ by more than rounding, None if all agree.

    `usual` are gradients for an ordinary cotangent: rounding is relative to them.
    """
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is None and y is None:
            continue
        if x is None or y is None:
            some = x if x is not None else y
            if some is not None and bool((some != 0).any()):
                return i
            continue
        if x.shape != y.shape:
            return i
        if identical(x, y):
            continue
        eps = torch.finfo(x.dtype).eps
        p, q = wide(x), wide(y)
        holes = torch.isfinite(p.abs()) & torch.isfinite(q.abs())
        size = max(_peak(x), _peak(usual[i]))
        if bool(((p - q).abs()[holes] > min(max(1e5 * eps, ROUNDING), 0.1) * size + 1e-290).any()):
            return i
        if bool((torch.isfinite(p.abs()) != torch.isfinite(q.abs())).any()):
            return i
    return None


def _peak(gradient: Tensor | None) -> float:
    if gradient is None or not gradient.numel():
        return 0.0
    return float(torch.nan_to_num(wide(gradient).abs(), posinf=0.0).max())


def check_cotangent_layouts(
    session: Session, problem: Problem, cotangent: Cotangent, backward: Backward
) -> None:
    """Transposed, sliced and expanded incoming gradients against contiguous ones of the same values."""
    usual = gradients_once(problem, cotangent)
    for k, v in enumerate(cotangent):
        if v is None:
            continue
        for name, layout in _layouts(v):
            odd = layout(v)
            plain = like_contiguous([odd if n == k else w for n, w in enumerate(cotangent)])
            strange: Cotangent = [
                layout(v) if n == k else w for n, w in enumerate(like_contiguous(cotangent))
            ]
            expected = usual if identical(odd, v) else quiet(lambda plain=plain: backward(plain))  # type: ignore[misc]
            if isinstance(expected, Exception):
                continue
            got = quiet(lambda strange=strange: backward(strange))  # type: ignore[misc]
            if isinstance(got, Exception):
                if _is_mutation(session):
                    continue
                text = f"backward raises when the incoming gradient of output {k} is {name}: {str(got)[:200]}"
                session.add("GC206", "crash", text, output=k, layout=name, predicts=str(got))
                return
            wrong = agree(expected, got, usual)
            if wrong is not None:
                text = f"the gradient of input {wrong} changes when the gradient of output {k} is {name}"
                session.add("GC106", "layout", text, input=wrong, output=k, layout=name)
                return


def _is_mutation(session: Session) -> bool:
    """An in-place change of the incoming gradient is reported as such, not as a crash for expanded ones."""
    return any(f.code == "GC202" for f in session.findings)


def check_input_layouts(session: Session, problem: Problem) -> None:
    """Transposed, sliced and expanded inputs against contiguous ones of the same values.

    Not for Functions that draw random numbers: `rand_like` fills in the order of the memory.
    """
    if problem.shared.rng.draws:
        return
    for i, value in enumerate(problem.values):
        for name, layout in _layouts(value):
            outcome = _one_input(problem, i, layout, session)
            if outcome is None:
                session.skipped += 1
                continue
            session.tried += 1
            kind, wrong = outcome
            if kind == "same":
                continue
            if kind == "forward":
                text = f"the output changes when input {i} is {name}: forward assumes a contiguous tensor"
            else:
                text = f"the gradient of input {wrong} changes when input {i} is {name}"
            severity = Severity.ERROR if session.klass is not None or kind == "backward" else Severity.INFO
            session.add(
                "GC106",
                "layout",
                text,
                input=wrong if kind == "backward" else i,
                layout=name,
                severity=severity,
            )
            return


def _one_input(problem: Problem, i: int, layout: Layout, session: Session) -> tuple[str, int] | None:
    values = problem.values
    odd = problem.with_values([layout(v) if n == i else v for n, v in enumerate(values)])
    plain = problem
    if not identical(odd.values[i], values[i]):
        plain = problem.with_values([v.clone(memory_format=torch.contiguous_format) for v in odd.values])
    expected = quiet(lambda: plain.base)
    made = quiet(odd.begin)
    if isinstance(expected, Exception) or isinstance(made, Exception):
        return None
    if not all(y.shape == v.shape for y, v in zip(odd.base, expected, strict=True)):
        return None
    if plain is not problem and not finite([*expected, *odd.base]):
        return None  # equal rows make a matrix singular, and rounding decides what comes of that
    if agree(list(expected), list(odd.base), list(problem.base)) is not None:
        return ("forward", i) if _is_steady(plain, i) else None
    v = session.cotangent(plain)
    # The shape of an output may depend on the values: here they are others than the given ones.
    usual = gradients_once(problem, session.cotangent(problem))
    first = quiet(lambda: gradients_once(plain, v))
    second = quiet(lambda: gradients_once(odd, v))
    if isinstance(first, Exception) or isinstance(second, Exception):
        return None
    wrong = agree(first, second, usual)
    if wrong is None or not is_regular(plain, v, session.draws):
        return "same", i
    return "backward", wrong


def _is_steady(problem: Problem, i: int) -> bool:
    """Does rounding an input leave the outputs as they are? Not of a matrix that is nearly singular."""
    value = problem.values[i].detach()
    if not (value.is_floating_point() or value.is_complex()) or not value.numel():
        return True
    # No two rows are changed alike.
    count = torch.arange(value.numel(), dtype=torch.double, device=value.device).reshape(value.shape)
    noise = SHAKEN * torch.finfo(value.dtype).eps * torch.cos(count * count)
    shaken = value * (1 + noise).to(value.dtype)
    other = problem.with_values([shaken if n == i else v for n, v in enumerate(problem.values)])
    outputs = quiet(lambda: other.base)
    return (
        not isinstance(outputs, Exception)
        and agree(list(problem.base), list(outputs), list(problem.base)) is None
    )
