"""Making abstract tensors, and what their shapes and dtypes tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Storage, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref, Text

# How a tensor may share memory with another without being a view of it to autograd.
APART = (None, "detached", "data")
# Marks a tensor that by its name has no graph: a gradient that is asked for shows that it may have one.
TAKEN_FOR_CONSTANT = "taken-for-constant"


def new_tensor(
    s: State,
    site: Any,
    *,
    requires_grad: bool | None = False,
    leaf: bool | None = True,
    dtype: str | None = "float",
    shape: tuple[int | None, ...] | None = None,
    storage: Ref | None = None,
    name: Text = "",
) -> Ref:
    """A tensor with memory of its own unless `storage` is given.

    A negative size is one that was misread: PyTorch makes no such tensor.
    """
    if shape is not None and any(size is not None and size < 0 for size in shape):
        shape = None
    tensor = Tensor(storage if storage is not None else s.new(Storage()))
    tensor.requires_grad = requires_grad
    tensor.leaf = leaf
    tensor.dtype = dtype
    tensor.shape = shape
    tensor.site = site
    tensor.name = name
    tensor.inference = s.inference
    tensor.unsure_graph = requires_grad is None
    tensor.contiguous = True
    return s.new(tensor)


def unknown_tensor(s: State, site: Any, name: Text = "") -> Ref:
    """A tensor of which nothing is known: it may have been made long before."""
    ref = new_tensor(s, site, requires_grad=None, leaf=None, dtype=None, name=name)
    s[ref].inference = False
    return ref


def numel_is_one(shape: tuple[int | None, ...] | None) -> bool | None:
    """Is it a single number? None where the shape does not tell."""
    if shape is None:
        return None
    if any(size is not None and size != 1 for size in shape):
        return False
    return None if None in shape else True


def sizes_differ(a: tuple[int | None, ...] | None, b: tuple[int | None, ...] | None) -> bool:
    """Are two shapes certainly not the same?"""
    if a is None or b is None:
        return False
    return len(a) != len(b) or any(
        x != y for x, y in zip(a, b, strict=True) if x is not None and y is not None
    )


def promoted(s: State, refs: Sequence[Ref]) -> str | None:
    """The class of dtype of a result: complex, float, int or bool; None where one is unknown."""
    kinds = [s[ref].dtype for ref in refs]
    for kind in ("complex", "float"):
        if kind in kinds:
            return kind
    if not kinds or None in kinds:
        return None
    return "int" if "int" in kinds else "bool"
