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
from gradcheck_tool.gradcheck.problem import identical, is_real_number
from gradcheck_tool.gradcheck.session import quiet

if TYPE_CHECKING:
    from gradcheck_tool.gradcheck.evidence import Evidence

_MOST_INTERMEDIATES, _MOST_SLOTS = 40, 6


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


class _Graph:
    """A graph through which backward goes again and again, each time with another saved tensor replaced."""

    def __init__(self, evidence: Evidence) -> None:
        """Run the forward."""
        self._evidence = evidence
        self._slot, self._replacement = -1, torch.empty(0)
        count = iter(range(1_000_000))
        with torch.autograd.graph.saved_tensors_hooks(lambda t: (next(count), t), self._unpacked):
            self._made = evidence.problem.graph(evidence.problem.values)

    def _unpacked(self, packed: tuple[int, Tensor]) -> Tensor:
        number, tensor = packed
        return self._replacement if number == self._slot else tensor

    def gradient(self, slot: int, replacement: Tensor, row: int) -> Tensor:
        """The gradient for cotangent `row` with saved tensor number `slot` replaced."""
        self._slot, self._replacement = slot, replacement
        e = self._evidence
        got = e.problem.pull(*self._made, like_contiguous(e.cotangents[row]), retain=True)
        return dense(got[e.index], e.problem.values[e.index]).reshape(-1)

    @property
    def repeats(self) -> bool:
        """Whether backward gives the same each time, and leaves what was saved as it is."""
        none = torch.empty(0)
        return identical(self.gradient(-1, none, 0), self.gradient(-1, none, 0))


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
    slots = saved_by(evidence)[:_MOST_SLOTS]
    candidates = _candidates(evidence) if slots else []
    once = quiet(lambda: _Graph(evidence))
    reused = once if not isinstance(once, Exception) and quiet(lambda: once.repeats) is True else None
    for slot, saved in enumerate(slots):
        for label, tensor in candidates:
            fits = tensor.shape == saved.shape and tensor.dtype == saved.dtype
            if not fits or saved.layout != torch.strided or torch.equal(tensor, saved):
                continue
            if _explains(evidence, reused, slot, tensor):
                subject = f"the gradient of input {evidence.index}"
                return f"{subject} would be right if saved tensor {slot} were {label}"
    return None


def _explains(evidence: Evidence, graph: _Graph | None, slot: int, tensor: Tensor) -> bool:
    for row in (0, 2):
        try:
            got = (graph or _Graph(evidence)).gradient(slot, tensor, row)
        except Exception:  # noqa: BLE001  (user code may raise anything)
            return False
        gap = (got - evidence.reference[row]).abs()
        if not bool(((gap <= 10 * evidence.tolerance[row].max()) | ~evidence.known).all()):
            return False
    return True
