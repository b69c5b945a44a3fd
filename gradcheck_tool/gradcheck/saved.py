"""A counterfactual: would the gradient be right if another tensor had been saved?

Saved tensors are replaced, one at a time, by inputs, outputs and intermediate results of the same shape,
through PyTorch's saved-tensor hooks, and the gradient is compared with the reference again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gradcheck_tool.gradcheck.compare import dense
from gradcheck_tool.gradcheck.probes import like_contiguous
from gradcheck_tool.gradcheck.problem import is_real_number

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence

_MOST_INTERMEDIATES = 40


class _Recorder(TorchFunctionMode):
    """Keeps the results of the operations inside `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[tuple[str, Tensor]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        if is_real_number(result) and len(self.results) < _MOST_INTERMEDIATES:
            self.results.append((str(getattr(func, "__name__", func)), result.detach().clone()))
        return result


def _candidates(evidence: Evidence) -> list[tuple[str, Tensor]]:
    problem = evidence.problem
    found = [(f"argument {i}", x.detach()) for i, x in enumerate(problem.leaves) if is_real_number(x)]
    recorder = _Recorder()
    with recorder:
        outputs = problem.forward(problem.values)
    found += [(f"output {k}", y.detach()) for k, y in enumerate(outputs)]
    found += [
        (f"the intermediate result of `{name}` (operation {k} of forward)", t)
        for k, (name, t) in enumerate(recorder.results)
    ]
    return found


def _with_saved(evidence: Evidence, slot: int, replacement: Tensor, row: int) -> Tensor:
    """The gradient for cotangent `row` with saved tensor number `slot` replaced."""
    count = iter(range(1_000_000))

    def unpack(packed: tuple[int, Tensor]) -> Tensor:
        number, tensor = packed
        return replacement if number == slot else tensor

    problem = evidence.problem
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (next(count), t), unpack):
        got = problem.vjp(problem.values, like_contiguous(evidence.cotangents[row]))
    return dense(got[evidence.index], problem.values[evidence.index]).reshape(-1)


def saved_by(evidence: Evidence) -> list[Tensor]:
    """The tensors that forward saves for backward, in the order in which it saves them."""
    kept: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        kept.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        evidence.problem.graph(evidence.problem.values)
    return kept


def better_saved_tensor(evidence: Evidence) -> str | None:
    """A sentence naming the saved tensor and what should have been saved; None if no replacement helps."""
    if evidence.klass is None:
        return None
    for slot, saved in enumerate(saved_by(evidence)[:6]):
        for label, tensor in _candidates(evidence):
            fits = tensor.shape == saved.shape and tensor.dtype == saved.dtype
            if not fits or torch.equal(tensor, saved):
                continue
            if _explains(evidence, slot, tensor):
                subject = f"the gradient of input {evidence.index}"
                return f"{subject} would be right if saved tensor {slot} were {label}"
    return None


def _explains(evidence: Evidence, slot: int, tensor: Tensor) -> bool:
    for row in (0, 2):
        try:
            got = _with_saved(evidence, slot, tensor, row)
        except Exception:  # noqa: BLE001  (user code may raise anything)
            return False
        gap = (got - evidence.reference[row]).abs()
        if not bool(((gap <= 10 * evidence.tolerance[row].max()) | ~evidence.known).all()):
            return False
    return True
