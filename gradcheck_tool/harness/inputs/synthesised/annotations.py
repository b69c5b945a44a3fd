"""What an annotation says about values: classes, `Optional`, `Literal`, jaxtyping's shapes."""

from __future__ import annotations

import enum
import re
import types
import typing
from collections.abc import Callable as AbstractCallable
from typing import Any

import torch

from gradcheck_tool.harness.inputs.synthesised.specs import SIDE, Several, Spec, TensorSpec, function, plain

_JAXTYPING = re.compile(r"""(?:\w+\.)?(\w+)\[[\w.]+,\s*["']([^"']*)["']\]""")
_NAMES = {
    "Tensor": torch.Tensor,
    "torch.Tensor": torch.Tensor,
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "Module": torch.nn.Module,
    "nn.Module": torch.nn.Module,
}
_PLAIN: dict[Any, tuple[Spec, ...]] = {
    int: (plain(SIDE), plain(1), plain(2), plain(0), plain(8)),
    float: (plain(1.0), plain(0.5), plain(2.0), plain(0.1)),
    bool: (plain(True), plain(False)),
    torch.dtype: (function("dtype", torch.float32),),
    torch.device: (function("device", torch.device("cpu")),),
    type(None): (plain(None),),
    torch.nn.Module: (
        function("torch.nn.Tanh()", torch.nn.Tanh()),
        function(f"torch.nn.Linear({SIDE}, {SIDE})", torch.nn.Linear(SIDE, SIDE)),
    ),
}


def annotated(annotation: Any) -> tuple[Spec, ...]:
    """Values that an annotation admits, most usual first; empty where it says nothing."""
    if isinstance(annotation, str):
        found = _JAXTYPING.search(annotation)
        if found:
            return (_jax(found[1], found[2]),)
        return annotated(_NAMES[annotation]) if annotation in _NAMES else ()
    if annotation is torch.Tensor or annotation is torch.nn.Parameter:
        return (TensorSpec((SIDE, SIDE)),)
    if annotation in _plain_types():
        return _PLAIN[annotation]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(function(f"{annotation.__name__}.{m.name}", m) for m in annotation)
    dims = getattr(annotation, "dim_str", None)
    if isinstance(dims, str):
        return (_jax(" ".join(map(str, getattr(annotation, "dtypes", ()))), dims),)
    return _generic(typing.get_origin(annotation), typing.get_args(annotation))


def _plain_types() -> set[Any]:
    return set(_PLAIN)


def _generic(origin: Any, inside: tuple[Any, ...]) -> tuple[Spec, ...]:
    if origin in (typing.Union, types.UnionType):
        return tuple(spec for part in inside for spec in annotated(part))
    if origin is typing.Literal:
        return tuple(plain(value) for value in inside)
    if origin is AbstractCallable:
        return (function("torch.sin", torch.sin), function("torch.mul", torch.mul))
    if origin in (list, tuple, typing.Sequence) and inside:
        fixed = origin is tuple and inside[-1] is not Ellipsis
        parts = inside if fixed else (inside[0],) * 2
        items = tuple(next(iter(annotated(part)), TensorSpec((SIDE, SIDE))) for part in parts)
        return (Several(items, as_list=origin is list),)
    return ()


def _jax(dtypes: str, dims: str) -> TensorSpec:
    """`Float[Tensor, "batch 3 c"]`: named axes are `SIDE` long, numbers as they are, `...` one axis."""
    shape = []
    for word in dims.split():
        name = word.lstrip("*?#_").rpartition("=")[2]
        shape.append(int(name) if name.isdigit() else SIDE)
    lowered = dtypes.lower()
    kind = "mask" if "bool" in lowered else "complex" if "complex" in lowered else "normal"
    whole = "int" in lowered and "float" not in lowered
    return TensorSpec(tuple(shape), "index" if whole else kind)
