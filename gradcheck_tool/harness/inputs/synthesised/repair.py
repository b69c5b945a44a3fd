"""What an error message says about the arguments: other values for the parameters that are suspected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from gradcheck_tool.harness.inputs.synthesised.specs import (
    CALLED,
    FORGIVING,
    SIDE,
    Made,
    Plain,
    Several,
    Spec,
    TensorSpec,
    function,
    plain,
)

_TOLD, _VAGUE = 0.3, 1.0
_LONGEST = 512
"""The longest axis that a message can ask for."""

_Repair = Callable[[Spec, re.Match[str]], Iterable[Spec]]


def repairs(problem: str, spec: Spec) -> list[tuple[float, Spec]]:
    """Values to put in the place of `spec` after this error, each with its cost, most promising first."""
    found: dict[Spec, float] = {}
    for pattern, repair in _RULES:
        match = pattern.search(problem)
        for new in repair(spec, match) if match else ():
            if new != spec:
                first = _VAGUE if repair is _edges else _TOLD
                found.setdefault(new, first + 0.2 * len(found))
    return [(cost, new) for new, cost in found.items()]


def _rank(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        numbers = [int(text) for text in match.groups() if text and text.isdigit()]
        yield from (spec.of_rank(n) for n in numbers if n <= 6)


def _out_of_range(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    axis = int(match[1])
    if isinstance(spec, TensorSpec):
        yield spec.of_rank(min(6, max(axis + 1, -axis)))


def _whole(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, kind="index")
        yield replace(spec, kind="index", shape=spec.shape[:1])
        yield replace(spec, kind="mask")


def _whole32(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, kind="index32")
        yield replace(spec, kind="index32", shape=spec.shape[:1])


def _floating(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec) and not spec.differentiable:
        yield replace(spec, kind="one-zero", grad=False)
        yield replace(spec, kind="normal")


def _tensor(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if not isinstance(spec, TensorSpec):
        yield TensorSpec((SIDE, SIDE))
        yield TensorSpec((SIDE,))
        yield TensorSpec((), "positive", grad=False)


def _called(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """Functions; inside of objects, in the place of what is of the type that the message names."""
    inside = _with_functions(spec, match[1])
    if inside != spec:
        yield inside
    yield from CALLED
    yield function("torch.nn.Tanh()", torch.nn.Tanh())


def _with_functions(spec: Spec, kind: str | None) -> Spec:
    """An object, or several, with functions in the place of what is of another type."""
    if isinstance(spec, Made):
        return _changed(spec, lambda item: FORGIVING if _kind(item) == kind else item)
    return _changed(spec, lambda item: _with_functions(item, kind))


def _changed(spec: Spec, change: Callable[[Spec], Spec]) -> Spec:
    """An object, or several, with each item changed; anything else as it is."""
    if isinstance(spec, Several):
        return replace(spec, items=tuple(map(change, spec.items)))
    if isinstance(spec, Made):
        return replace(spec, items=tuple((name, change(item)) for name, item in spec.items))
    return spec


def _sequence(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if not isinstance(spec, Several):
        yield Several((plain(2), plain(2)))
        yield Several((TensorSpec((SIDE, SIDE)), TensorSpec((SIDE, SIDE))), as_list=True)
        yield Several((spec,))


def _grown(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    """A list that forward fills, or takes from."""
    if not isinstance(spec, Several):
        yield Several((), as_list=True)
        yield Several((TensorSpec((SIDE, SIDE), grad=False),), as_list=True)


def _mapping(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """Keyword arguments that are handed on: none, for each call where there are several.

    Only what is of the type that the message names was handed on: anything else that is empty would end a
    loop before it begins, which is no step towards a call that works.
    """
    if _kind(spec) == match[1]:
        yield plain({})
    elif isinstance(spec, Several) and match[1] in map(_kind, spec.items):
        yield replace(spec, items=(plain({}),) * len(spec.items))


def _kind(spec: Spec) -> str:
    """The name of the type of a value."""
    if isinstance(spec, Plain):
        return type(spec.value).__name__
    if isinstance(spec, Several):
        return "list" if spec.as_list else "tuple"
    return spec.owner.__name__ if isinstance(spec, Made) else "Tensor"


def _forgiving(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    """Functions that take whatever they are given, in the place of those that do not."""
    if isinstance(spec, Several | Made) or _is_function(spec):
        yield _with_forgiving(spec)


def _with_forgiving(spec: Spec) -> Spec:
    return FORGIVING if _is_function(spec) else _changed(spec, _with_forgiving)


def _is_function(spec: Spec) -> bool:
    return isinstance(spec, Plain) and callable(spec.value)


def _integer(_spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    yield plain(SIDE)
    yield plain(1)
    yield plain(2)
    yield plain(0)


def _number(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    yield plain(1.0)
    yield plain(True)
    yield plain(1)
    yield plain(False)
    if isinstance(spec, TensorSpec):
        yield replace(spec, shape=())
        yield replace(spec, shape=(1,))


def _definite(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, kind="positive-definite")
        yield replace(spec.of_rank(2), kind="positive-definite")


def _longer(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, shape=tuple(2 * n for n in spec.shape))
        yield replace(spec, shape=(*spec.shape[:-1], 4 * SIDE)) if spec.shape else spec
        yield spec.of_rank(min(5, len(spec.shape) + 1))


def _sizes(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """Two lengths that must agree: the one in the place of the other."""
    if isinstance(spec, TensorSpec):
        a, b = int(match[1]), int(match[2])
        for old, new in ((a, b), (b, a)):
            if old in spec.shape and 0 < new <= 64:
                yield replace(spec, shape=tuple(new if n == old else n for n in spec.shape))
        yield from (spec.of_rank(r) for r in (1, 2, 3, 4) if r != len(spec.shape))


def _expected(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """The length that the message expects, in the place of the one that it got."""
    wanted, got = int(match[1]), int(match[2])
    if isinstance(spec, TensorSpec) and 0 < wanted <= _LONGEST:
        for axis in (k for k in reversed(range(len(spec.shape))) if spec.shape[k] == got):
            yield replace(spec, shape=(*spec.shape[:axis], wanted, *spec.shape[axis + 1 :]))


def _multiple(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """Lengths that a number divides, of the last axes."""
    number = next(int(text) for text in match.groups() if text)
    if isinstance(spec, TensorSpec) and 1 < number <= _LONGEST:
        for count in (2, 1, 3):
            if count <= len(spec.shape):
                before, after = spec.shape[:-count], spec.shape[-count:]
                yield replace(spec, shape=before + tuple(number * -(-n // number) for n in after))


def _edges(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """Some axis must have one length: the one that the message names, else any short one, last axis first."""
    if not isinstance(spec, TensorSpec) or not spec.shape:
        return
    named = [int(text) for text in re.findall(r"(?<![\w.-])\d+", match.string) if 0 < int(text) <= 64]
    for length in dict.fromkeys([*named, 3, 2, 1, 5, 6, 7, 8]):
        yield replace(spec, shape=(*spec.shape[:-1], length))
    for length in dict.fromkeys([*named, 2, 1]):
        yield replace(spec, shape=(length, *spec.shape[1:]))


def _trailing(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """The last axes of the lengths that the message gives, as in `(..., 3, 4)`."""
    lengths = tuple(int(text) for text in re.findall(r"\d+", match[1]))
    if isinstance(spec, TensorSpec) and all(0 < n <= 64 for n in lengths):
        yield replace(spec, shape=lengths)
        yield replace(spec, shape=(SIDE, *lengths))


def _returned(spec: Spec, match: re.Match[str]) -> Iterable[Spec]:
    """The shape of what backward returned for an argument, in the place of that of the argument."""
    got, given = (tuple(int(text) for text in re.findall(r"\d+", match[k])) for k in (1, 2))
    if isinstance(spec, TensorSpec) and spec.shape == given and all(0 < n <= 64 for n in got):
        yield replace(spec, shape=got)


def _single(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, shape=(1,) * len(spec.shape))
        yield replace(spec, shape=())
        yield replace(spec, shape=(1,))


def _constant(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, grad=False)


def _module(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    tanh = function("torch.nn.Tanh()", torch.nn.Tanh())
    linear = function(f"torch.nn.Linear({SIDE}, {SIDE})", torch.nn.Linear(SIDE, SIDE))
    if isinstance(spec, Several):
        yield from (replace(spec, items=(module,) * len(spec.items)) for module in (linear, tanh))
    yield tanh
    yield linear


def _values(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec) and spec.differentiable:
        yield from (
            replace(spec, kind=kind)
            for kind in ("positive", "unit", "above-one", "negative", "positive-definite")
        )
    elif not isinstance(spec, TensorSpec):
        yield plain(0.5)
        yield plain(2.0)


def _complex(spec: Spec, _: re.Match[str]) -> Iterable[Spec]:
    if isinstance(spec, TensorSpec):
        yield replace(spec, kind="complex")


_SOURCES: tuple[tuple[str, _Repair], ...] = (
    (r"too many values to unpack \(expected (\d+)", _rank),
    (r"not enough values to unpack \(expected (\d+)", _rank),
    (r"Dimension out of range .* got (-?\d+)", _out_of_range),
    (r"(?:tuple|list) index out of range|too many indices", _longer),
    (
        r"(?:[eE]xpected|must be|requires?|only|needs?|got|is)\D{0,30}(\d)-?\s?[dD]\b(?:.*?(\d)-?\s?[dD]\b)?",
        _rank,
    ),
    (r"(\d)-dimensional|(\d) dim(?:ension)?s?\b|(?:dim|ndim)(?:\(\))? == (\d)", _rank),
    (r"subscripts in the equation \((\d+)\)", _rank),
    (r"% (\d+) ==|divisible by (\d+)|multiples? of (\d+)", _multiple),
    (r"argument after \*\* must be a mapping, not (\w+)", _mapping),
    (r"unexpected keyword argument|positional arguments? but \d+ w|takes no keyword", _forgiving),
    (r"has no attribute '(?:append|extend|insert|pop)'", _grown),
    (r"shape\[-?\d*:\] == \((\d+(?:, ?\d+)*),?\)", _trailing),
    (r"invalid gradient .*got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]", _returned),
    (r"\((?:\.{3}|\*|[A-Za-z_]\w*), ?(\d+(?:, ?\d+)*)\)", _trailing),
    (r"indices|scalar type (?:Long|Int)|Long.*Int|(?:int64|torch\.long|integer) .*(?:tensor|dtype)", _whole),
    (r"int32|IntTensor|scalar type Int\b", _whole32),
    (r"index_?(?:select|add)|valid indices", _whole),
    (r"(?:Float|Double|floating|Long|Bool)\b.*(?:not implemented|but|expected|same dtype)", _floating),
    (r"not implemented for '(?:Long|Bool)'", _floating),
    (r"'(?:int|float|bool|str|NoneType|tuple|list|function)' object has no attribute", _tensor),
    (r"builtin.* object has no attribute|must be Tensor|not (?:a )?[tT]ensor|[eE]xpected.*Tensor", _tensor),
    (r"no attribute '(?:forward|parameters|training|eval|train|state_dict|modules)'", _module),
    (r"assert isinstance\([^,]*, (?:torch\.)?(?:nn\.)?Module\)|is not a Module subclass", _module),
    (r"(?:'(\w+)' object is )?not callable", _called),
    (r"not (?:iterable|subscriptable)|has no len|over a 0-d|must be tuple|argument after \*", _sequence),
    (r"(?:must|should|has to|expected to) be (?:of type |an? )?['`]?int(?:eger)?\b", _integer),
    (
        r"interpreted as an integer|must be int|expected int|integer is required|int.*not Tensor|slice ind",
        _integer,
    ),
    (r"converted to an index|tuple of ints.{1,40}\bfloat\b", _integer),
    (r"Boolean value of Tensor|bool value of Tensor|only one element tensors|converted to Scalar", _number),
    (r"must be (?:float|Number|real|bool)|expected (?:float|bool|Number)|not 'Tensor'", _number),
    (r"square|symmetric|positive[- ]definite|singular|cholesky|not PD", _definite),
    (r"multiple|single|scalar|one element|numel", _single),
    (r"gradient|needs_input_grad|differentiable|requires? grad", _constant),
    (r"invalid for input of size|divisible|size mismatch|kernel size|smaller|too small", _longer),
    (r"out of bounds|at least", _longer),
    (r"(\d+)(?: and|\) must match|x\d+ and) .*?(\d+)", _sizes),
    (r"[eE]xpected\D{0,30}(\d+)\b\D{0,9}\bgot\D{0,30}(\d+)", _expected),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", _sizes),
    (r"AssertionError|must match|[eE]xpected size|must have|should be", _edges),
    (r"not finite|nan|inf\b|domain|non-negative|positive|between", _values),
    (r"complex", _complex),
)
_RULES = tuple((re.compile(pattern), repair) for pattern, repair in _SOURCES)
