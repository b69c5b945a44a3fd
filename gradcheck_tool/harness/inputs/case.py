"""Inputs of a Function as data: what is wanted, one call, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

Source = Literal["declared", "recorded", "synthesised"]


@dataclass(frozen=True, slots=True)
class InputSettings:
    """What inputs are wanted.

    Attributes:
        device: as `torch.device` takes it.
        dtype: name of a floating-point or complex type, such as `bfloat16`; None for what the Function is
            made for (of a recorded call: what was recorded).
        seed: of every draw; the same seed gives the same inputs.
        cache: absolute path of the `.gradlint_cache` folder, where recorded calls lie.
        limit: the largest number of cases of one Function.
    """

    device: str = "cpu"
    dtype: str | None = None
    seed: int = 0
    cache: str | None = None
    limit: int = 8


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of one call `Function.apply(*args, **kwargs)`.

    Attributes:
        args: positional arguments; tensors that require grad are checked.
        kwargs: keyword arguments.
        source: where the arguments come from.
        note: one line for the report: which file, which recorded call, how guessed.
        cotangents: incoming gradients of the outputs, in order, as they were recorded; else None.
        options: further options of `check_function`, such as `manifold`.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    source: Source = "synthesised"
    note: str = ""
    cotangents: tuple[Tensor | None, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CasesFound:
    """The inputs of one Function.

    Attributes:
        cases: in the order in which they are to be checked; all of the best source that has any.
        tried: one line for each way of getting inputs, with why it gave none.
        stub: samples for the user to complete, ready to paste; wanted where there are no cases.
    """

    cases: tuple[Case, ...]
    tried: tuple[str, ...] = ()
    stub: str = ""
