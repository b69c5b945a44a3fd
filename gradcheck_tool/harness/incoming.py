"""Backward with the incoming gradients that were recorded, in the memory layout in which they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradcheck_tool.gradcheck.layouts import agree
from gradcheck_tool.gradcheck.rng import preserved
from gradcheck_tool.gradcheck.tree import flatten
from gradcheck_tool.harness.outcomes import environment_finding

if TYPE_CHECKING:
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.gradcheck import Report
    from gradcheck_tool.harness.inputs.case import Case
    from gradcheck_tool.harness.units import Unit

_KNOWN = ("GC106", "GC202", "GC206")
"""Codes under which the check at drawn incoming gradients reports the same."""


def check_incoming(function: Any, unit: Unit, case: Case, report: Report) -> Finding | None:
    """A finding where backward treats a recorded incoming gradient differently from a contiguous copy of it.

    Whether the gradient is right is asked elsewhere, at drawn incoming gradients.
    """
    if case.cotangents is None or all(_is_plain(given) for given in case.cotangents):
        return None
    if any(finding.code in _KNOWN for finding in report.findings):
        return None
    with preserved():
        plain = _gradients(function, case, [_copied(given) for given in case.cotangents])
        if isinstance(plain, Exception):
            return None
        found = _gradients(function, case, case.cotangents)
    strides = [None if given is None else list(given.stride()) for given in case.cotangents]
    evidence = {"case": f"recorded input {case.note}".rstrip(), "strides": strides}
    if isinstance(found, Exception):
        text = f"backward raises for an incoming gradient that was recorded: {type(found).__name__}: {found}"
        return environment_finding("GC206", unit, text, {**evidence, "diagnosis": "layout"})
    wrong = agree(found, plain, plain)
    if wrong is None:
        return None
    text = (
        f"the gradient of input {wrong} is another one for an incoming gradient that was recorded "
        "than for a contiguous copy of it"
    )
    return environment_finding("GC106", unit, text, {**evidence, "diagnosis": "layout", "input": wrong})


def _is_plain(given: Tensor | None) -> bool:
    return given is None or given.is_contiguous()


def _copied(given: Tensor | None) -> Tensor | None:
    return None if given is None else given.contiguous()


def _gradients(
    function: Any, case: Case, incoming: list[Tensor | None] | tuple[Tensor | None, ...]
) -> list[Tensor | None] | Exception:
    """The gradients of all inputs that require grad, or what was raised."""
    leaves, rebuild = flatten([list(case.args), dict(case.kwargs)])
    inputs = [x.detach().requires_grad_() if _requires_grad(x) else x for x in leaves]
    # Functions that change an argument in place refuse leaves.
    args, kwargs = rebuild([x.clone() if _requires_grad(x) else x for x in inputs])
    torch.manual_seed(0)
    try:
        outputs = [y for y in flatten(function.apply(*args, **kwargs))[0] if isinstance(y, Tensor)]
        used = [
            (y, given)
            for y, given in zip(outputs, incoming, strict=True)
            if given is not None and y.requires_grad
        ]
        return list(
            torch.autograd.grad(
                [y for y, _ in used],
                [x for x in inputs if _requires_grad(x)],
                [given for _, given in used],
                allow_unused=True,
            )
        )
    except Exception as error:  # noqa: BLE001 - checked code raises what it likes
        return error


def _requires_grad(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.requires_grad
