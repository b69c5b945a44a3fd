"""For every parameter the values worth trying, each with what it costs to believe in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.harness.inputs.synthesised.annotations import annotated
from gradcheck_tool.harness.inputs.synthesised.names import usual
from gradcheck_tool.harness.inputs.synthesised.specs import (
    CALLED,
    FLOATING,
    SIDE,
    Plain,
    Several,
    Spec,
    TensorSpec,
    function,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.harness.inputs.synthesised.parameters import Parameter

Ranked = list[tuple[float, Spec]]
_WRITTEN = -1.0
"""What it costs more to believe in a shape that somebody has written down."""
_UNLIKELY = 2.0
_WRITTEN_OUT = 16
"""The most numbers of a tensor that is used as it is written."""
_FALLBACK: tuple[Spec, ...] = (
    plain(1.0),
    plain(SIDE),
    plain(None),
    plain(True),
    plain(1),
    TensorSpec((SIDE,), "index"),
    TensorSpec((SIDE, SIDE), "mask"),
    function("torch.sin", torch.sin),
    Several((plain(SIDE), plain(SIDE))),
    Several((TensorSpec((SIDE, SIDE)), TensorSpec((SIDE, SIDE))), as_list=True),
    plain("mean"),
)

_ENTRIES = 2 * SIDE
_OF_SPARSE: dict[str, Spec] = {
    "indices": TensorSpec((2, _ENTRIES), "coordinates"),
    "values": TensorSpec((_ENTRIES,)),
    "shape": Several((plain(SIDE), plain(SIDE))),
}
"""The parts of a sparse matrix of `SIDE` rows and columns."""


def candidates(parameter: Parameter) -> Ranked:
    """Values to try for one parameter, cheapest first; the first costs least but not always nothing."""
    ranked: Ranked = []
    for specs, first in _sources(parameter):
        ranked += [(first + 0.5 * i, spec) for i, spec in enumerate(specs)]
    if any(isinstance(spec, TensorSpec) and spec.differentiable for _, spec in ranked[:3]):
        ranked += _tensors(parameter)
    ranked += [(4 + 0.5 * i, spec) for i, spec in enumerate(_FALLBACK)]
    ranked += _of_written_shape(ranked, parameter)
    best: dict[Spec, float] = {}
    for cost, spec in ranked:
        fitted = _fitted(spec, parameter)
        best[fitted] = min(cost, best.get(fitted, cost))
    return sorted(((cost, spec) for spec, cost in best.items()), key=lambda pair: pair[0])


def _of_written_shape(ranked: Ranked, parameter: Parameter) -> Ranked:
    """The likely tensors in the shape that is written beside the parameter, before those of other shapes."""
    shape = parameter.usage.shape
    if shape is None:
        return []
    likely = [(cost, spec) for cost, spec in ranked if isinstance(spec, TensorSpec) and cost < _UNLIKELY]
    return [(cost + _WRITTEN, replace(spec, shape=shape)) for cost, spec in likely]


def _sources(parameter: Parameter) -> Iterable[tuple[Iterable[Spec], float]]:
    """What is known about a parameter, with the cost of its first value."""
    usage = parameter.usage
    said = annotated(parameter.annotation)
    if parameter.seen:
        yield [_constant(value) for value in parameter.seen], 0 if parameter.gradient is not True else 2
    if parameter.gradient:
        # Where callers pass a number, others of its kind may be far out of range.
        numbers = [value for value in parameter.seen if isinstance(value, (int, float)) and value > 0]
        yield [TensorSpec((SIDE, SIDE), center=float(value)) for value in numbers[:2]], -0.5
        yield [TensorSpec((SIDE, SIDE))], 0
        said = tuple(spec for spec in said if isinstance(spec, TensorSpec))
    yield parameter.objects, 0.1
    if usage.sparse is not None:
        yield [_OF_SPARSE[usage.sparse]], -0.5
    named = usual(parameter.name)
    if said and named and all(isinstance(spec, Plain) for spec in (*said, named[0])):
        yield named[:1], 0.05  # a name says more than that it is a number
    yield said, 0.1
    if not parameter.required:
        # `None` often stands for "the caller made none": a value tries more of the code.
        yield [_constant(parameter.default)], 1.0 if parameter.default is None and said else 0.0
    yield [plain(word) for word in usage.words], 0.3
    if usage.called:
        yield CALLED, 0.4
    sure = usage.tensor and parameter.gradient is not False
    tensors = [spec for spec in named if isinstance(spec, TensorSpec)]
    yield (tensors if sure and tensors else named), 1.0 if parameter.gradient else 0.5
    if usage.number:
        yield [plain(SIDE), plain(2)], 0.6
    if usage.flag and not usage.tensor:
        yield [plain(True), plain(False)], 0.6
    if usage.iterated and not usage.tensor:
        yield [Several((plain(2), plain(2))), Several((TensorSpec((SIDE, SIDE)),) * 2, as_list=True)], 1.0
    if usage.none:
        yield [plain(None)], 2.0
    if parameter.gradient is not False or usage.tensor:
        yield [TensorSpec((SIDE, SIDE))], 0.6 if usage.tensor or not named else 2.5


def _tensors(parameter: Parameter) -> Ranked:
    """Other ranks and other kinds of values."""
    usage = parameter.usage
    start = TensorSpec((SIDE,) * (usage.rank or max(usage.least, 2)))
    ranks = [r for r in (3, 1, 4, 2, 5, 0) if r >= usage.least and r != len(start.shape)]
    other = [(1.0 + 0.4 * i, start.of_rank(r)) for i, r in enumerate(ranks)]
    kinds = [(2.0 + 0.3 * i, replace(start, kind=kind)) for i, kind in enumerate((*FLOATING[1:], "complex"))]
    return [*other, *kinds, (1.5, replace(start, grad=False))]


def _fitted(spec: Spec, parameter: Parameter) -> Spec:
    """A tensor with the rank that the code takes apart, or at least with as many axes as it asks for; what is
    written about it counts more, for the code may give its name to something else.
    """
    if not isinstance(spec, TensorSpec):
        return spec
    usage = parameter.usage
    if spec.shape == usage.shape:
        return spec
    if usage.rank is not None and len(spec.shape) == 2:
        return spec.of_rank(usage.rank)
    return spec.of_rank(usage.least) if len(spec.shape) < usage.least else spec


def _literal(value: torch.Tensor) -> Spec:
    return function(f"torch.tensor({value.tolist()})", value)


def _constant(value: Any) -> Spec:
    """A value from source or from a default."""
    if isinstance(value, torch.Tensor):
        return (
            _literal(value) if value.numel() <= _WRITTEN_OUT else TensorSpec(tuple(value.shape), grad=False)
        )
    return (
        plain(value) if not callable(value) else function(getattr(value, "__qualname__", repr(value)), value)
    )
