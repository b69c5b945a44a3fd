"""Sizes of what a call returns, as far as its arguments tell; unknown where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain import shapes
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import FALSE, NONE, TRUE, Const, Ref, Symbol, Tup, Value
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.library.torch.settings import settings_behind
from gradcheck_tool.library.torch.tensor_values import is_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.profile import Output, Profile

Tensors = dict[str, "Ref | Sequence[Ref]"]


def size_of(value: Value | None) -> int | None:
    """The size that a value is; None for one that is not known, or is none."""
    number = registry.const(value)
    return number if type(number) is int else None


def factory_shape(s: State, args: Sequence[Value]) -> Shape:
    """The shape that sizes passed one by one or as a sequence give."""
    items = list(args)
    if len(items) == 1:
        inner, is_open = elements(s, items[0])
        if is_open and not isinstance(items[0], (Const, Symbol)):
            return None
        if isinstance(items[0], Tup) or s.get(items[0], List) is not None:
            items = inner
        elif isinstance(items[0], Symbol) and items[0].kind != "int":
            return None
    out: list[int | None] = []
    for item in items:
        size = size_of(item)
        if size is not None or isinstance(item, Symbol):
            out.append(size)
        else:
            return None
    return tuple(out)


def mark_overlap(
    s: State,
    source: Ref | Sequence[Ref] | None,
    out: Ref,
    leaf: str,
    bound: Mapping[str, Value | list[Value]],
) -> None:
    """`expand` to a larger size makes elements share memory; PyTorch refuses fewer sizes than dimensions.

    Sizes that only the run knows are larger: nobody calls `expand` for nothing. Of `expand_as` and
    `broadcast_to`, which generic code calls, that is not certain.
    """
    shape = s[source].shape if isinstance(source, Ref) else None
    given = bound.get("size", bound.get("shape"))
    wanted = factory_shape(s, given if isinstance(given, list) else [given]) if given is not None else None
    if wanted is None or len(wanted) < len(shape or ()):
        return
    padded = (1,) * (len(wanted) - len(shape)) + shape if shape is not None else (None,) * len(wanted)
    pairs = [(a, b) for a, b in zip(padded, wanted, strict=True) if b != -1]
    if any(a == 1 and b is not None and b > 1 for a, b in pairs):
        s.edit(out).overlaps = "all" if all(size == 1 for size in shape or (None,)) else "some"
    elif leaf == "expand" and any(a in (1, None) and (a, b) != (1, 1) for a, b in pairs):
        s.edit(out).overlaps = "some"


def output_shapes(
    s: State,
    profile: Profile,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
) -> list[Shape]:
    """A shape for each output; as many as the call returns."""
    if not profile.outputs:
        return []
    if profile.outputs[0].many or profile.result == "list":
        return _part_shapes(s, leaf, bound, tensors)
    return [_output_shape(s, o, i, tensors, bound, leaf) for i, o in enumerate(profile.outputs)]


def _part_shapes(
    s: State, leaf: str, bound: Mapping[str, Value | list[Value]], tensors: Tensors
) -> list[Shape]:
    """The shapes of the parts that `split`, `chunk`, `unbind` and their like return."""
    count = _count(s, leaf, bound, tensors)
    source = tensors.get("self", tensors.get("input", tensors.get("tensor")))
    shape = s[source].shape if isinstance(source, Ref) else None
    axis = registry.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    if not shape or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return [None] * count
    at = axis % len(shape)
    if leaf == "unbind":
        return [shape[:at] + shape[at + 1 :]] * count
    step = registry.const(bound.get("split_size") or bound.get("split_size_or_sections"))  # type: ignore[arg-type]
    size = shape[at]
    if leaf == "split" and isinstance(step, int) and size is not None:
        sizes: list[int | None] = [min(step, size - i * step) for i in range(count)]
    elif leaf == "chunk" and size is not None and size % count == 0:
        sizes = [size // count] * count
    else:
        sizes = [None] * count
    return [(*shape[:at], n, *shape[at + 1 :]) for n in sizes]


def _count(s: State, leaf: str, bound: Mapping[str, Value | list[Value]], tensors: Tensors) -> int:
    if leaf in ("chunk", "tensor_split"):
        names = ("chunks", "tensor_indices_or_sections", "indices_or_sections")
        given = next((bound[name] for name in names if name in bound), None)
        number = given.value if isinstance(given, Const) else None
        return number if isinstance(number, int) and 0 < number <= 16 else 3
    source = tensors.get("self", tensors.get("input", tensors.get("tensor")))
    shape = s[source].shape if isinstance(source, Ref) else None
    axis = registry.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    if shape and isinstance(axis, int) and -len(shape) <= axis < len(shape) and shape[axis] is not None:
        size = shape[axis] or 0
        if leaf == "unbind":
            return max(1, min(size, 16))
        step = registry.const(bound.get("split_size") or bound.get("split_size_or_sections"))  # type: ignore[arg-type]
        if leaf == "split" and isinstance(step, int) and step > 0:
            return max(1, min(-(-size // step), 16))
    return 4


def _is_number(s: State, value: Symbol) -> bool:
    return value.kind in ("int", "float") or is_size(value) or settings_behind(s, value) is not None


def _output_shape(
    s: State,
    output: Output,
    index: int,
    tensors: Tensors,
    bound: Mapping[str, Value | list[Value]],
    leaf: str,
) -> Shape:
    source = tensors.get("self", tensors.get("input"))
    mine: Shape = s[source].shape if isinstance(source, Ref) else None
    name = leaf.rstrip("_")
    if name in shapes.REDUCTIONS and not _reduction_is_binary(bound):
        return _reduction_shape(s, mine, bound)
    if output.shape == "scalar":
        return ()
    if output.shape is not None and output.shape in tensors:
        like = tensors[output.shape]
        return s[like].shape if isinstance(like, Ref) else None
    everything = [r for v in tensors.values() for r in ([v] if isinstance(v, Ref) else v)]
    if output.shape == "broadcast":
        if any(
            isinstance(v, Symbol) and not _is_number(s, v) for k, v in bound.items() if k in ("self", "other")
        ):
            return None
        return shapes.broadcast([s[r].shape for r in everything])
    if name in ("cat", "concat", "stack"):
        return _joined_shape(s, name, everything, bound)
    if name in ("matmul", "mm", "bmm", "@", "mv", "dot"):
        other = tensors.get("other", tensors.get("mat2", tensors.get("vec", tensors.get("tensor"))))
        return shapes.matmul(mine, s[other].shape) if isinstance(other, Ref) else None
    if name in _ADDED_PRODUCTS:
        left, right = (tensors.get(parameter) for parameter in _ADDED_PRODUCTS[name])
        known = isinstance(left, Ref) and isinstance(right, Ref)
        return shapes.matmul(s[left].shape, s[right].shape) if known else None  # type: ignore[index]
    if name == "linear":
        weight = tensors.get("weight")
        size = s[weight].shape if isinstance(weight, Ref) else None
        return (*mine[:-1], *size[:-1]) if mine and size else None
    if name in ("lstm", "gru", "rnn"):
        return _recurrent_shape(mine, bound) if index == 0 else None
    if name == "index_select":
        dim, chosen = _Numbers(s, bound).one("dim"), tensors.get("index")
        count = s[chosen].shape if isinstance(chosen, Ref) else None
        return shapes.resized(mine, dim, count[0]) if count and dim is not None else None
    if name in ("unique", "masked_select") and "dim" not in bound and index == 0:
        return (None,)
    if name == "squeeze":
        dim = _Numbers(s, bound).one("dim")
        return shapes.squeezed(mine, dim) if dim is not None or "dim" not in bound else None
    if name == "einsum":
        equation = registry.const(bound.get("equation"))  # type: ignore[arg-type]
        return (
            shapes.contracted(equation, [s[r].shape for r in everything])
            if isinstance(equation, str)
            else None
        )
    if name in ("outer", "ger"):
        other = tensors.get("vec2")
        size = s[other].shape if isinstance(other, Ref) else None
        return (*mine, *size) if mine is not None and size is not None else None
    return _view_shape(s, name, mine, bound)


def _recurrent_shape(mine: Shape, bound: Mapping[str, Value | list[Value]]) -> Shape:
    """The outputs of a recurrent layer for all steps: as many as the inputs, each of the hidden size."""
    hidden, both = (registry.const(bound.get(name)) for name in ("hidden_size", "bidirectional"))  # type: ignore[arg-type]
    known = isinstance(hidden, int) and isinstance(both, bool) and bound.get("proj_size") in (None, Const(0))
    return (*mine[:-1], hidden * (1 + both) if known else None) if mine and len(mine) > 1 else None


# Products that a tensor is added to, which has their shape or is expanded to it: their factors.
_ADDED_PRODUCTS = {"addmm": ("mat1", "mat2"), "baddbmm": ("batch1", "batch2"), "addmv": ("mat", "vec")}


def _joined_shape(
    s: State, name: str, parts: Sequence[Ref], bound: Mapping[str, Value | list[Value]]
) -> Shape:
    """The shape of `cat` or `stack`."""
    known = [s[r].shape for r in parts]
    axis = registry.const(bound.get("dim"), 0)  # type: ignore[arg-type]
    listed = bound.get("tensors")
    if None in known or not known or not isinstance(axis, int) or elements(s, listed)[1]:  # type: ignore[arg-type]
        return None
    first = known[0] or ()
    if name == "stack":
        at = axis % (len(first) + 1)
        return (*first[:at], len(known), *first[at:])
    if any(shape is None or len(shape) != len(first) for shape in known) or not first:
        return None
    at = axis % len(first)
    sizes = [shape[at] for shape in known if shape is not None]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    return (*first[:at], total, *first[at + 1 :])


def _reduction_is_binary(bound: Mapping[str, Value | list[Value]]) -> bool:
    other = bound.get("other", bound.get("dim"))
    return isinstance(other, Ref)


def _reduction_shape(s: State, mine: Shape, bound: Mapping[str, Value | list[Value]]) -> Shape:
    dim = bound.get("dim", bound.get("axis"))
    keep = bound.get("keepdim") == TRUE
    if dim is None or dim == NONE:
        return ()
    values = dim if isinstance(dim, list) else elements(s, dim)[0] if isinstance(dim, (Tup, Ref)) else [dim]
    axes = [registry.const(v) for v in values]
    if any(not isinstance(a, int) for a in axes) or bound.get("keepdim", FALSE) not in (TRUE, FALSE):
        return None
    return shapes.reduced(mine, axes, keep)


class _Numbers:
    """The numbers among the arguments of a call."""

    def __init__(self, s: State, bound: Mapping[str, Value | list[Value]]) -> None:
        self.s = s
        self.bound = bound

    def one(self, name: str, default: int | None = None) -> int | None:
        """The argument if it is a known whole number, `default` where it is not given."""
        given = self.bound.get(name)
        number = registry.const(given) if isinstance(given, Const) else None
        if given is None:
            return default
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    def many(self, *names: str) -> Shape:
        """The first argument of these names as sizes, passed one by one or as a sequence."""
        given = next((self.bound[name] for name in names if name in self.bound), None)
        values = given if isinstance(given, list) else [given] if given is not None else []
        return factory_shape(self.s, values)


def _view_shape(s: State, name: str, mine: Shape, bound: Mapping[str, Value | list[Value]]) -> Shape:
    """The shape of a view or a rearrangement of one tensor."""
    numbers = _Numbers(s, bound)
    if name in ("view", "reshape"):
        return shapes.viewed(mine, numbers.many("shape", "size"))
    by_list = _BY_LIST.get(name)
    if by_list is not None:
        return by_list(mine, numbers.many("size", "dims", "repeats"))
    parameters, rule = _BY_NUMBERS.get(name, ((), None))
    found = [numbers.one(parameter, default) for parameter, default in parameters]
    return rule(mine, *found) if rule is not None and None not in found else None


_BY_LIST: dict[str, Callable[[Shape, Sequence[int | None] | None], Shape]] = {
    "expand": shapes.expanded,
    "permute": shapes.permuted,
    "repeat": shapes.repeated,
}
# The numbers that the shape depends on, with their defaults (None: there is none), and how.
_BY_NUMBERS: dict[str, tuple[tuple[tuple[str, int | None], ...], Callable[..., Shape]]] = {
    "unsqueeze": ((("dim", None),), shapes.unsqueezed),
    "select": ((("dim", None),), shapes.without),
    "narrow": ((("dim", None), ("length", None)), shapes.resized),
    "t": ((), lambda shape: tuple(reversed(shape)) if shape is not None else None),
    "transpose": ((("dim0", None), ("dim1", None)), shapes.swapped),
    "swapaxes": ((("dim0", None), ("dim1", None)), shapes.swapped),
    "movedim": ((("source", None), ("destination", None)), shapes.moved),
    "diagonal": ((("offset", 0), ("dim1", 0), ("dim2", 1)), shapes.diagonal),
    "flatten": ((("start_dim", 0), ("end_dim", -1)), shapes.flattened),
}
