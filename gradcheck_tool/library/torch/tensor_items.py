"""Subscripts of tensors: rows, slices, masks, and writes through them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import (
    Const,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
)
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.interp import registry
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.operands import reads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain import shapes
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.library.torch.tensor_effects import COPY_INTO, INDEX, INDEX_PUT, MULTI, STRIDED, VIEW
from gradcheck_tool.library.torch.tensor_values import as_tensor


def rows(m: Interpreter, s: State, ref: Ref, site: Any, count: int | None = None) -> Tup:
    """Iterating over a tensor is `unbind(0)`: one node, views that forbid in-place writes."""
    tensor: Tensor = s[ref]
    size = tensor.shape[0] if tensor.shape else count
    known = min(size, 4) if size is not None else 3
    inner = tensor.shape[1:] if tensor.shape else None
    outputs = engine.apply(s, MULTI, {"self": ref}, site, tensor.name, [inner] * known)
    return Tup(tuple(outputs), open=size is None or size > known)


def index_parts(index: Value) -> list[Value]:
    """The parts of a subscript."""
    return list(index.items) if isinstance(index, Tup) and not index.open else [index]


def classify(m: Interpreter, s: State, index: Value, site: Any) -> tuple[str, list[Ref]]:
    """`basic` (a view), `whole` (`[:]`), `advanced` (a copy) or `unknown`, and the index tensors."""
    tensors: list[Ref] = []
    kind = "whole"
    for part in index_parts(index):
        if isinstance(part, Slice):
            if part.lower is not None or part.upper is not None or part.step is not None:
                kind = "basic" if kind != "advanced" else kind
        elif isinstance(part, Const) and (part.value is Ellipsis):
            continue
        elif isinstance(part, Const) and (part.value is None or type(part.value) is int):
            kind = "basic" if kind != "advanced" else kind
        elif isinstance(part, Const) and isinstance(part.value, bool):
            kind = "advanced"
        elif s.get(part, Tensor) is not None:
            record: Tensor = s[part]  # type: ignore[index]
            if record.dtype is None or (record.dtype == "int" and record.shape is None):
                return "unknown", []
            if record.dtype == "int" and record.shape == ():
                kind = "basic" if kind != "advanced" else kind
                continue
            tensors.append(part)  # type: ignore[arg-type]
            kind = "advanced"
        elif s.get(part, List) is not None:
            kind = "advanced"
        elif isinstance(part, Symbol) and part.kind == "int":
            kind = "basic" if kind != "advanced" else kind
        else:
            return "unknown", []
    return kind, tensors


def indexed_shape(shape: tuple[int | None, ...] | None, index: Value) -> tuple[int | None, ...] | None:
    """The shape after basic indexing."""
    if shape is None:
        return None
    parts = index_parts(index)
    used = sum(1 for p in parts if not (isinstance(p, Const) and p.value in (None, Ellipsis)))
    if used > len(shape):
        return None
    out: list[int | None] = []
    at = 0
    for part in parts:
        if isinstance(part, Const) and part.value is None:
            out.append(1)
        elif isinstance(part, Const) and part.value is Ellipsis:
            skip = len(shape) - used
            out += shape[at : at + skip]
            at += skip
        elif isinstance(part, Slice):
            if at >= len(shape):
                return None
            out.append(_sliced(shape[at], part))
            at += 1
        else:
            at += 1
    if at > len(shape):
        return None
    return (*out, *shape[at:])


def _gathered_shape(s: State, shape: shapes.Shape, index: Value) -> shapes.Shape:
    """The shape after indexing with one list or one tensor of whole numbers."""
    listed, tensor = s.get(index, List), s.get(index, Tensor)
    if not shape:
        return None
    if tensor is not None and tensor.dtype == "int" and tensor.shape is not None:
        return (*tensor.shape, *shape[1:])
    whole = listed is not None and all(type(registry.const(item)) is int for item in listed.items)
    return (len(listed.items), *shape[1:]) if listed is not None and whole and not listed.open else None


def _sliced(size: int | None, part: Slice) -> int | None:
    if part.lower is None and part.upper is None and part.step is None:
        return size
    bounds = [
        p.value if isinstance(p, Const) else 0 for p in (part.lower, part.upper, part.step) if p is not None
    ]
    given = [p for p in (part.lower, part.upper, part.step) if p is not None]
    if (
        size is None
        or any(not isinstance(p, Const) for p in given)
        or any(b is not None and not isinstance(b, int) for b in bounds)
    ):
        return None
    lower, upper, step = (
        p.value if isinstance(p, Const) else None for p in (part.lower, part.upper, part.step)
    )
    return len(range(*slice(lower, upper, step).indices(size))) if step != 0 else None


class _WrittenItems:
    """The subscripts of a function that a statement does nothing with but write to: `x[i].zero_()`."""

    def __init__(self, function: ir.Function) -> None:
        code = [*function.blocks.values()]
        instrs = [i for block in code for i in block.instrs]
        read = {reg for i in (*instrs, *(block.terminator for block in code)) if i for reg in reads(i)}
        dropped = {i.func for i in instrs if isinstance(i, ir.Call) and i.dst not in read}
        methods = [i for i in instrs if isinstance(i, ir.GetAttr) and i.dst in dropped]
        written = {i.obj for i in methods if _writes(i.name)}
        self.nodes = {id(i.node) for i in instrs if isinstance(i, ir.GetItem) and i.dst in written}


def _writes(method: str) -> bool:
    return method.endswith("_") and not method.startswith("_") and method != "requires_grad_"


def get_item(m: Interpreter, s: State, ref: Ref, index: Value, site: Any) -> Value:
    """`tensor[index]`.

    An index that is not known selects a part where a statement writes to it: a copy would make it useless.
    """
    tensor: Tensor = s[ref]
    kind, tensors = classify(m, s, index, site)
    function: ir.Function = s[s.frames[-1]].function
    if kind == "unknown" and id(site.node) in function.worked_out(_WrittenItems).nodes:
        kind = "basic"
    text = m.label(s, site.node)
    if kind in ("basic", "whole"):
        effect = VIEW if _in_one_piece(index) else STRIDED
        return engine.apply(s, effect, {"self": ref}, site, text, [indexed_shape(tensor.shape, index)])[0]
    if kind == "advanced":
        shape = _gathered_shape(s, tensor.shape, index)
        return engine.apply(s, INDEX, {"self": ref, "index": tensors}, site, text, [shape])[0]
    effect = dataclasses.replace(INDEX, frees=None, saves={})
    return engine.apply(s, effect, {"self": ref}, site, text)[0]


def _in_one_piece(index: Value) -> bool:
    """Does a basic index take one piece of contiguous memory: whole dimensions after at most one slice?"""
    cut = False
    for part in index_parts(index):
        if isinstance(part, Const) and part.value in (None, Ellipsis):
            continue
        if isinstance(part, Slice) and part.lower is None and part.upper is None and part.step is None:
            cut = True
        elif cut or (isinstance(part, Slice) and part.step is not None):
            return False
        else:
            cut = isinstance(part, Slice)
    return True


def set_item(
    m: Interpreter, s: State, ref: Ref, index: Value, value: Value, site: Any, text: Any, augmented: bool
) -> None:
    """`tensor[index] = value`: a copy into a view, or `index_put_`.

    Raises:
        Raised: where PyTorch would refuse the write.
    """
    if augmented and s.get(value, Tensor) is not None and s[value].storage == s[ref].storage and value != ref:  # type: ignore[index]
        if s[value].base is not None:  # type: ignore[index]
            return
    kind, tensors = classify(m, s, index, site)
    source = as_tensor(m, s, value, site) if not isinstance(value, Const) else None
    args: dict[str, Ref | Sequence[Ref]] = {"self": ref}
    if source is not None:
        args["src"] = source
    if kind == "basic":
        view = _silent_view(s, ref, site)
        args["self"] = view
        engine.apply_inplace(s, COPY_INTO, view, args, site, text)
        _sync(s, ref, view)
        return
    # Copying a tensor onto itself does nothing, so it asks nothing of the memory.
    effect = dataclasses.replace(COPY_INTO, guarded=source != ref) if kind == "whole" else INDEX_PUT
    if kind == "advanced":
        args["index"] = tensors
    if kind == "unknown":
        effect = Effect(node="CopySlices", frees=None, second=None)
        args["index"] = [at for at in index_parts(index) if _chooses(s, at)]  # type: ignore[misc]
    engine.apply_inplace(s, effect, ref, args, site, text)


def _chooses(s: State, index: Value) -> bool:
    """Is an index a tensor of numbers or of truth values?"""
    tensor = s.get(index, Tensor)
    return tensor is not None and tensor.dtype in ("int", "bool")


def _silent_view(s: State, ref: Ref, site: Any) -> Ref:
    """The view that `x[i] = v` writes through. It is made whatever the grad mode, for this write only."""
    tensor: Tensor = s[ref]
    if tensor.base is not None and tensor.view in engine.FORBIDDING:
        return ref
    view = engine.new_tensor(
        s,
        site,
        requires_grad=tensor.requires_grad,
        leaf=False,
        dtype=tensor.dtype,
        storage=tensor.storage,
        name=str(tensor.name),
    )
    made: Tensor = s[view]
    made.base = tensor.base if tensor.base is not None and tensor.view not in engine.APART else ref
    made.view, made.version_counter = "plain", tensor.version_counter
    made.grad_fn = tensor.grad_fn
    made.inference = tensor.inference
    made.base_version = s[tensor.storage].version
    return view


def _sync(s: State, ref: Ref, view: Ref) -> None:
    """After a write through `x[i]`, `x` itself knows its new history."""
    if s[ref].base is not None and view != ref:
        engine.refresh_view(s, ref)
