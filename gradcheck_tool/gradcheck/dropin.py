"""A `gradcheck` that takes the place of PyTorch's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.autograd.gradcheck import GradcheckError

from gradcheck_tool.gradcheck.engine import check_function

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.gradcheck.report import Report


class GradientError(GradcheckError):
    """A wrong gradient or a broken contract; `report` has the findings."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.text())
        self.report = report


def gradcheck(  # noqa: PLR0913  (the signature is PyTorch's)
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    **options: Any,
) -> bool:
    """Check gradients like `torch.autograd.gradcheck`, in any dtype and without tolerances.

    The keywords of PyTorch's function are accepted. Those that tune its numerics (`eps`, `atol`, `rtol`,
    `nondet_tol`, `fast_mode`, `masked`) have no effect: steps and error bars are measured. Other keywords
    are options of `check_function`.

    Returns:
        True if no error was found (warnings are none), else False where `raise_exception` is false.

    Raises:
        GradientError: a subclass of `torch.autograd.gradcheck.GradcheckError`, with the report.
        ValueError: if no input requires grad, as PyTorch's does.
    """
    del eps, atol, rtol, nondet_tol, check_grad_dtypes, check_batched_forward_grad, fast_mode, masked
    arguments = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not _any_requires_grad(arguments):
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    options.setdefault("forward_mode", check_forward_ad or check_backward_ad)
    options.setdefault("vmap", check_batched_grad or check_backward_ad)
    options.setdefault("contracts", check_undefined_grad or check_backward_ad)
    report = check_function(func, arguments, **options)
    if not report.ok and raise_exception:
        raise GradientError(report)
    return report.ok


def _any_requires_grad(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        return any(_any_requires_grad(v) for v in value.values())
    return isinstance(value, (tuple, list)) and any(_any_requires_grad(v) for v in value)
