"""Data types, as far as autograd cares: which of them can require a gradient."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    LibraryObject,
    Ref,
    Symbol,
    Value,
)
from gradcheck_tool.engine.tensors import promoted
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.models import ObjectModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.effect import Effect
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes


# Classes of tensors of one data type, by the kind of the type.
_CLASSES = {
    "float": ("FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor"),
    "int": ("LongTensor", "IntTensor", "ShortTensor", "CharTensor", "ByteTensor"),
    "bool": ("BoolTensor",),
}
TENSOR_CLASSES = tuple(name for names in _CLASSES.values() for name in names)
DTYPES = {
    "float": (
        "float",
        "double",
        "half",
        "bfloat16",
        "float16",
        "float32",
        "float64",
        *_CLASSES["float"],
    ),
    "int": (
        *("int", "long", "short", "char", "byte", "int8", "int16", "int32", "int64", "uint8"),
        *_CLASSES["int"],
    ),
    "bool": ("bool", *_CLASSES["bool"]),
    "complex": ("cfloat", "cdouble", "complex64", "complex128", "chalf"),
}


_DEFAULT_FLOAT = frozenset({"torch.float", "torch.float32", "torch.FloatTensor"})


def dtype_class(value: Value | None) -> str | None:
    """`float`, `int`, `bool` or `complex` for a dtype object, None for anything else."""
    name = registry.lib_name(value).rpartition(".")[2]
    return next((kind for kind, names in DTYPES.items() if name in names), None)


def requested_dtype(s: State, call: Call, default: str | None) -> str | None:
    """The kind of the `dtype` that a call asks for, or its default; None for one that is unknown."""
    asked = call.kwargs.get("dtype", NONE)
    return default if asked == NONE else _kind(s, asked)


def _kind(s: State, dtype: Value) -> str | None:
    """The kind of a named dtype, or of that of a tensor; None if not known."""
    if isinstance(dtype, Symbol) and isinstance(dtype.key, tuple) and dtype.key[::2] == ("attr", "dtype"):
        tensor = s.get(dtype.key[1], Tensor)
        return tensor.dtype if tensor is not None else None
    return dtype_class(dtype)


def dtype_attribute(s: State, dtype: Value, name: str) -> Const | None:
    """`is_floating_point` or `is_complex` of a named dtype, or of that of a tensor; None if not known."""
    return is_of_kind(_kind(s, dtype), name)


def is_of_kind(kind: str | None, question: str) -> Const | None:
    asked = {"is_floating_point": "float", "is_complex": "complex"}.get(question)
    return None if kind is None or asked is None else Const(kind == asked)


def is_default_float(call: Call) -> bool:
    """Is the dtype that `to` or `type` gets the one that tensors of floats have by default?"""
    return any(_text(value) in _DEFAULT_FLOAT for value in (*call.args, *call.kwargs.values()))


def _text(value: Value) -> str:
    """The name of something of a library, which `type` takes as a text as well."""
    is_text = isinstance(value, Const) and isinstance(value.value, str)
    return str(value.value) if is_text else registry.lib_name(value)  # type: ignore[union-attr]


def target_dtype(s: State, name: str, call: Call, own: str | None) -> str | None:
    """The kind of the data type that a conversion asks for; None for none, "" for one that is not known.

    Args:
        s: the state.
        name: the method.
        call: its call.
        own: the kind that the tensor has. Something unknown is taken for a device where that is a float's.
    """
    if name in ("float", "double", "half", "bfloat16"):
        return "float"
    is_unknown = call.unsure and own != "float"
    for key, value in (*enumerate(call.args), *call.kwargs.items()):
        other = s.get(value, Tensor)
        kind = _kind(s, value) if other is None else other.dtype
        if kind is not None:
            return kind
        if isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("torch."):
            return dtype_class(LibraryObject(value.value))
        is_unknown = is_unknown or key == "dtype" or _may_be_dtype(value, own)
    return "" if is_unknown and name in ("to", "type", "type_as") else None


def _may_be_dtype(value: Value, own: str | None) -> bool:
    """May something unknown be a data type, not a device or a flag?"""
    name = registry.lib_name(value)
    if name:
        return own != "float" and not name.startswith(("torch.", "builtins.")) and "device" not in name
    if not isinstance(value, Symbol) or value.kind not in (None, "data"):
        return False
    path = value.key if isinstance(value.key, tuple) else ()
    asked = path[2] if path[:1] == ("attr",) else None
    return asked == "dtype" or (asked != "device" and own != "float")


class DtypeModel(ObjectModel[Any]):
    """A value that may be the data type of a tensor."""

    def get_attribute(self, m: Interpreter, s: State, obj: Any, name: str, site: Any) -> Outcomes | None:
        if name not in ("is_floating_point", "is_complex"):
            return None
        known = dtype_attribute(s, obj, name)
        return None if known is None else [(s, known)]


def with_numbers(
    s: State,
    effect: Effect,
    tensors: Mapping[str, Ref | Sequence[Ref]],
    given: Iterable[Value | list[Value]],
) -> Effect:
    """What an operation does where a number with a fraction may make floating point values of integers."""
    refs = [ref for each in tensors.values() for ref in ([each] if isinstance(each, Ref) else each)]
    if promoted(s, refs) not in ("int", "bool") or not any(map(_may_have_fraction, given)):
        return effect
    return replace(
        effect, dtypes=tuple("" if kind in ("same", "promoted") else kind for kind in effect.dtypes)
    )


def _may_have_fraction(value: Value | list[Value]) -> bool:
    if isinstance(value, Const):
        return isinstance(value.value, float)
    return isinstance(value, Symbol) and value.kind not in ("int", "bool")
