"""What a diagnosis is, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.gradcheck.evidence import Evidence

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Diagnosis:
    """One word for the kind of mistake, the sentence that explains it and further facts."""

    word: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[Evidence], "Diagnosis | None"]


def input_name(evidence: Evidence) -> str:
    """The name of the input in messages."""
    return f"the gradient of input {evidence.index}"


def norm(rows: Tensor, known: Tensor) -> float:
    """The norm of a gradient."""
    return float((rows.abs() * known).square().sum().sqrt())
