"""Descriptions of argument values: small, comparable, and made into values with a seeded generator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import neg
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.gradcheck.manifolds import may_be_motion
from gradcheck_tool.gradcheck.tangents import POSES

if TYPE_CHECKING:
    from torch import Tensor

SIDE = 4
"""The length of every axis at first: equal lengths multiply, add and broadcast."""

FLOATING = ("normal", "positive", "unit", "above-one", "negative", "positive-definite", "one-zero", "wide")
"""Kinds of floating-point values, most usual first."""


SPECIAL = (
    "pose", "lower-triangular", "symmetric", "unit-norm", "simplex", "orthogonal", "ascending", "diagonal",
)  # fmt: skip
"""Kinds of floating-point values that some code takes for granted."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor.

    Attributes:
        shape: lengths of its axes.
        kind: one of `FLOATING` or `SPECIAL`, or `complex`, `mask` (booleans), `index` (whole numbers below
            the shortest length), `index32` (the same, of 32 bits), `permutation` (each whole number below the
            last length once), `coordinates` (whole numbers below `SIDE`).
        grad: whether it is to require grad, where its kind can.
        center: all values lie close to this one; None for values of any size.
    """

    shape: tuple[int, ...]
    kind: str = "normal"
    grad: bool = True
    center: float | None = None

    @property
    def differentiable(self) -> bool:
        """Whether its values are real or complex numbers."""
        return self.kind in FLOATING or self.kind in SPECIAL or self.kind == "complex"

    def of_rank(self, rank: int) -> TensorSpec:
        """The same with more or fewer axes."""
        kept = self.shape[-rank:] if rank else ()
        return replace(self, shape=(SIDE,) * (rank - len(kept)) + kept)


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that is no tensor: used as it is. `text` is how a program would write it."""

    text: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plain) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or list of values."""

    items: tuple[Spec, ...]
    as_list: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """An object: `owner` called with these values, some of them by name."""

    owner: type
    items: tuple[tuple[str, Spec], ...] = ()


Spec = TensorSpec | Plain | Several | Made


def plain(value: Any) -> Plain:
    """A value whose `repr` is its program text."""
    return Plain(repr(value), value)


def function(text: str, value: Any) -> Plain:
    """A function, written as `text`."""
    return Plain(text, value)


CALLED = (function("torch.sin", torch.sin), function("torch.mul", torch.mul), function("operator.neg", neg))
"""Functions to pass: of one tensor, of two, and one that arrays have, too, and that is its own adjoint."""


FORGIVING = function(
    "lambda *a, **_: max(filter(torch.is_tensor, a), key=torch.numel).sin()",
    lambda *a, **_: max(filter(torch.is_tensor, a), key=torch.numel).sin(),
)
"""A function to pass that works on the largest tensor that it is given, and takes anything else, too."""


def build(spec: Spec, generator: torch.Generator, dtype: torch.dtype, device: str) -> Any:
    """The value of a description; the same generator state gives the same value."""
    if isinstance(spec, Plain):
        return spec.value
    if isinstance(spec, Several):
        made = [build(item, generator, dtype, device) for item in spec.items]
        return made if spec.as_list else tuple(made)
    if isinstance(spec, Made):
        return spec.owner(**{name: build(item, generator, dtype, device) for name, item in spec.items})
    value = _drawn(spec, generator, dtype).to(device)
    return value.requires_grad_(spec.grad and spec.differentiable)


def describe(spec: Spec) -> str:
    """A description as program text, with `device` and `dtype` in scope."""
    if isinstance(spec, Plain):
        return spec.text
    if isinstance(spec, Several):
        inside = ", ".join(map(describe, spec.items))
        return f"[{inside}]" if spec.as_list else f"({inside},)" if spec.items else "()"
    if isinstance(spec, Made):
        inside = ", ".join(f"{name}={describe(item)}" for name, item in spec.items)
        return f"{spec.owner.__qualname__}({inside})"
    if spec.center is not None:
        near = f"torch.rand({', '.join(map(str, spec.shape)) or '()'}, {_OPTIONS})"
        return f"{near}.mul({0.2 * spec.center:g}).add({0.9 * spec.center:g}).requires_grad_()"
    side = spec.shape[-1] if spec.shape else 1
    shape = ", ".join(map(str, spec.shape)) or "()"
    made = _text(spec).format(shape=shape, sizes=spec.shape, side=side, grad=_grad_text(spec))
    return made if spec.grad else made.removesuffix(".requires_grad_()")


def _text(spec: TensorSpec) -> str:
    """The pattern of a kind; that of `_special` for shapes that cannot be of the kind."""
    if spec.kind == "orthogonal" and may_be_motion(spec.shape):
        return _TEXTS["motion"]
    square = len(spec.shape) > 1 and spec.shape[-1] == spec.shape[-2]
    if (spec.kind in _OF_SQUARES and not square) or (spec.kind in SPECIAL and not spec.shape):
        return _TEXTS["positive"]
    if spec.kind == "pose":
        return _pose_text(spec.shape) if spec.shape[-1] in POSES else _TEXTS["unit-norm"]
    return _TEXTS[spec.kind]


def _pose_text(shape: tuple[int, ...]) -> str:
    before, after = POSES[shape[-1]]
    rows = "".join(f"{n}, " for n in shape[:-1])
    parts = [
        *([f"torch.randn({rows}{before}, {_OPTIONS})"] * bool(before)),
        f"torch.nn.functional.normalize(torch.randn({rows}4, {_OPTIONS}), dim=-1)",
        *([f"torch.rand({rows}{after}, {_OPTIONS}).add(0.5)"] * bool(after)),
    ]
    joined = parts[0] if len(parts) == 1 else f"torch.cat([{', '.join(parts)}], -1)"
    return f"{joined}.requires_grad_()"


def _grad_text(spec: TensorSpec) -> str:
    return ", requires_grad=True" if spec.grad and spec.differentiable else ""


_OPTIONS = "device=device, dtype=dtype"
_NORMAL = f"torch.randn({{shape}}, {_OPTIONS})"
_EYE = f"torch.eye({{side}}, {_OPTIONS})"
# Of an orthogonal matrix that mirrors, the last column is turned round.
_ROTATION = "(lambda q: torch.cat([q[..., :-1], q[..., -1:] * q.det()[..., None, None]], -1))"
_OF_SQUARES = ("positive-definite", "lower-triangular", "symmetric", "orthogonal", "diagonal")
_TEXTS = {
    "normal": f"torch.randn({{shape}}, {_OPTIONS}{{grad}})",
    "wide": f"{_NORMAL}.mul(3).requires_grad_()",
    "positive": f"torch.rand({{shape}}, {_OPTIONS}).add(0.5).requires_grad_()",
    "unit": f"torch.rand({{shape}}, {_OPTIONS}{{grad}})",
    "above-one": f"torch.rand({{shape}}, {_OPTIONS}).add(1.5).requires_grad_()",
    "negative": f"torch.rand({{shape}}, {_OPTIONS}).add(0.5).neg().requires_grad_()",
    "one-zero": f"torch.randint(2, {{sizes}}, {_OPTIONS}).requires_grad_()",
    "unit-norm": f"torch.nn.functional.normalize({_NORMAL}, dim=-1).requires_grad_()",
    "simplex": f"{_NORMAL}.softmax(-1).requires_grad_()",
    "ascending": f"torch.rand({{shape}}, {_OPTIONS}).add(0.2).cumsum(-1).requires_grad_()",
    "orthogonal": f"{_ROTATION}(torch.linalg.qr({_NORMAL})[0]).requires_grad_()",
    "motion": (
        f"(lambda m: torch.cat([{_ROTATION}(torch.linalg.qr(m[..., :-1])[0]), m[..., -1:]], -1))"
        f"({_NORMAL}).requires_grad_()"
    ),
    "symmetric": f"(lambda a: a + a.mT)({_NORMAL}).requires_grad_()",
    "positive-definite": f"(lambda a: a @ a.mT + {_EYE})({_NORMAL}).requires_grad_()",
    "lower-triangular": f"{_NORMAL}.tril(-1).add({_EYE}).requires_grad_()",
    "diagonal": f"torch.rand({{shape}}, {_OPTIONS}).add(0.5).tril().triu().requires_grad_()",
    "complex": "torch.randn({shape}, device=device, dtype=dtype.to_complex(){grad})",
    "index": f"torch.randint({SIDE - 1}, {{sizes}}, device=device)",
    "index32": f"torch.randint({SIDE - 1}, {{sizes}}, device=device, dtype=torch.int32)",
    "permutation": "torch.rand({shape}, device=device).argsort(-1)",
    "coordinates": f"torch.randint({SIDE}, {{sizes}}, device=device)",
    "mask": "torch.rand({shape}, device=device) < 0.5",
}


def _drawn(spec: TensorSpec, generator: torch.Generator, dtype: torch.dtype) -> Tensor:
    if spec.kind in ("index", "index32"):
        below = max(1, min((n for n in spec.shape if n), default=SIDE) - 1)
        kind = torch.int32 if spec.kind == "index32" else torch.int64
        return torch.randint(below, spec.shape, generator=generator, dtype=kind)
    if spec.kind == "permutation":
        return torch.rand(spec.shape, generator=generator).argsort(-1)
    if spec.kind == "coordinates":
        return torch.randint(SIDE, spec.shape, generator=generator)
    if spec.kind == "mask":
        return torch.rand(spec.shape, generator=generator) < 0.5
    normal = torch.randn(spec.shape, generator=generator, dtype=torch.float64)
    if spec.kind == "complex":
        other = torch.randn(spec.shape, generator=generator, dtype=torch.float64)
        return torch.complex(normal, other).to(dtype.to_complex() if not dtype.is_complex else dtype)
    uniform = torch.rand(spec.shape, generator=generator, dtype=torch.float64)
    if spec.center is not None:
        return (spec.center * (0.9 + 0.2 * uniform)).to(dtype)
    values = {
        "normal": normal,
        "wide": 3 * normal,
        "positive": 0.5 + uniform,
        "unit": 0.1 + 0.8 * uniform,
        "above-one": 1.5 + uniform,
        "negative": -0.5 - uniform,
        "one-zero": (uniform < 0.5).to(torch.float64),
    }
    if spec.kind in values:
        return values[spec.kind].to(dtype)
    return _special(spec.kind, normal, uniform).to(dtype)


def _pose(normal: Tensor, uniform: Tensor) -> Tensor:
    before, after = POSES.get(normal.shape[-1], (0, 0))
    first, last = before, normal.shape[-1] - after
    quaternion = torch.nn.functional.normalize(normal[..., first:last], dim=-1)
    return torch.cat([normal[..., :first], quaternion, 0.5 + uniform[..., last:]], -1)


def _rotation(normal: Tensor) -> Tensor:
    q: Tensor = torch.linalg.qr(normal)[0]
    return torch.cat([q[..., :-1], q[..., -1:] * q.det()[..., None, None]], -1)


def _special(kind: str, normal: Tensor, uniform: Tensor) -> Tensor:
    """Values with a property; those of a matrix need equal lengths of the last two axes."""
    if normal.dim() == 0:
        return 0.5 + uniform
    if kind == "pose":
        return _pose(normal, uniform)
    if kind == "unit-norm":
        return torch.nn.functional.normalize(normal, dim=-1)
    if kind == "simplex":
        return normal.softmax(-1)
    if kind == "ascending":
        return (0.2 + uniform).cumsum(-1)
    if kind == "orthogonal" and may_be_motion(normal.shape):
        return torch.cat([_rotation(normal[..., :-1]), normal[..., -1:]], -1)
    if normal.dim() < 2 or normal.shape[-1] != normal.shape[-2]:
        return 0.5 + uniform
    if kind == "symmetric":
        return normal + normal.mT
    if kind == "orthogonal":
        return _rotation(normal)
    if kind == "diagonal":
        return torch.diag_embed(0.5 + uniform.diagonal(dim1=-2, dim2=-1))
    if kind == "lower-triangular":
        return 0.5 * normal.tril(-1) + torch.diag_embed(0.5 + uniform.diagonal(dim1=-2, dim2=-1))
    return normal @ normal.mT / normal.shape[-1] + torch.eye(normal.shape[-1], dtype=normal.dtype)
