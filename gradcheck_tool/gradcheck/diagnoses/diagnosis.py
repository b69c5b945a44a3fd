"""What a diagnosis is, in which order they are asked, and what several of them need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
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


class Stage(IntEnum):
    """How much of the gradient a diagnosis explains: those that explain more are asked first."""

    ALONE = 0
    """The gradient by itself, or what it makes of the incoming one, shows the mistake."""
    WHOLE = 1
    """All of it is the right one, changed in one way."""
    PART = 2
    """It is right but for some of its entries."""
    REST = 3
    """What nothing explains that simply."""


Explain = Callable[[Evidence], "Diagnosis | None"]


@dataclass(frozen=True)
class _Registered:
    explain: Explain
    stage: Stage
    after: str


_REGISTERED: dict[str, _Registered] = {}


def diagnosis(stage: Stage, *, after: str = "") -> Callable[[Explain], Explain]:
    """Register a function of this folder, which explains the evidence or returns None.

    `after` names another function of the stage which is more specific: it is asked before.
    """

    def register(explain: Explain) -> Explain:
        _REGISTERED[explain.__name__] = _Registered(explain, stage, after)
        return explain

    return register


@cache
def in_order(*, few: bool = False) -> tuple[Explain, ...]:
    """The functions of all modules of this folder, the most specific first.

    Where `few` of very many entries are wrong, those are left out that explain a change of the whole.
    """
    folder = Path(__file__).parent
    for module in iter_modules([str(folder)]):
        import_module(f"{__package__}.{module.name}")
    order: list[Explain] = []
    for stage in (s for s in Stage if not (few and s is Stage.WHOLE)):
        names = {name: each.after for name, each in sorted(_REGISTERED.items()) if each.stage is stage}
        graph = {name: [after] if after else [] for name, after in names.items()}
        order += [_REGISTERED[name].explain for name in TopologicalSorter(graph).static_order()]
    return tuple(order)


def input_name(evidence: Evidence) -> str:
    """The name of the input in messages."""
    return f"the gradient of input {evidence.index}"


def norm(rows: Tensor, known: Tensor) -> float:
    """The norm of a gradient."""
    return float((rows.abs() * known).square().sum().sqrt())
