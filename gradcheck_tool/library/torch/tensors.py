"""Attributes, methods and subscripts of tensors that are not ordinary operations of the tables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    Accumulation,
    BackwardCall,
    GradientsCleared,
    GradRead,
    InvalidTensorUse,
    RetainGradCall,
)
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Method,
    NoGradient,
    Ref,
    Slice,
    Symbol,
    Tup,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine import operations as engine
from gradcheck_tool.engine.operations import Effect, Raised, story
from gradcheck_tool.interp import conditions, registry
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.interp.registry import Native, Result, method
from gradcheck_tool.trackers import gradient_reach as breaks
from gradcheck_tool.trackers import masks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain import shapes
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

VIEW = Effect(node="ViewBackward0", frees=False, second={"self": ()}, view_of="self", view="plain")
# Views of which a contiguous tensor is no reason to be contiguous.
STRIDED = dataclasses.replace(VIEW, node="SliceBackward0", strided=(True,))
PERMUTED = dataclasses.replace(STRIDED, node="PermuteBackward0")
MULTI = Effect(node="UnbindBackward0", frees=False, second={"self": ()}, view_of="self", view="multi-output")
INDEX = Effect(node="IndexBackward0", frees=True, second={"self": ()}, saves={"index": None})
NO_DERIVATIVE = Effect(node="NotImplemented", frees=None, second=None)
COPY_INTO = Effect(node="CopyBackwards", frees=False, second={"self": (), "src": ()})
INDEX_PUT = Effect(
    node="IndexPutBackward0",
    frees=True,
    second={"self": (), "src": ()},
    saves={"index": None},
    guarded=False,
)

NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
NON_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."
INTEGER_GRAD = "only Tensors of floating point dtype can require gradients"
INTEGER_MADE = "Only Tensors of floating point and complex dtype can require gradients"
RETAIN_CONSTANT = "can't retain_grad on Tensor that has requires_grad=False"
HOOK_CONSTANT = "cannot register a hook on a tensor that doesn't require gradient"
ACCUMULATE_NON_LEAF = "post accumulate grad hooks cannot be registered on non-leaf tensors"
DETACH_VIEW = "Can't detach views in-place. Use detach() instead."
DTYPES = {
    "float": (
        "float",
        "double",
        "half",
        "bfloat16",
        "float16",
        "float32",
        "float64",
        "FloatTensor",
        "DoubleTensor",
    ),
    "int": ("int", "long", "short", "char", "byte", "int8", "int16", "int32", "int64", "uint8", "LongTensor"),
    "bool": ("bool",),
    "complex": ("cfloat", "cdouble", "complex64", "complex128", "chalf"),
}


def dtype_class(value: Value | None) -> str | None:
    """`float`, `int`, `bool` or `complex` for a dtype object, None for anything else."""
    name = registry.lib_name(value).rpartition(".")[2]
    return next((kind for kind, names in DTYPES.items() if name in names), None)


def dtype_attribute(s: State, dtype: Value, name: str) -> Const | None:
    """`is_floating_point` or `is_complex` of a named dtype, or of that of a tensor; None if not known."""
    kind = dtype_class(dtype)
    if isinstance(dtype, Symbol) and isinstance(dtype.key, tuple) and dtype.key[::2] == ("attr", "dtype"):
        tensor = s.get(dtype.key[1], Tensor)
        kind = tensor.dtype if tensor is not None else None
    return _is_of_kind(kind, name)


def _is_of_kind(kind: str | None, question: str) -> Const | None:
    asked = {"is_floating_point": "float", "is_complex": "complex"}.get(question)
    return None if kind is None or asked is None else Const(kind == asked)


def as_tensor(m: Interpreter, s: State, value: Value, site: Any) -> Ref | None:
    """The value as a tensor: itself, or for a symbol an unknown tensor that stands for it from now on."""
    if isinstance(value, Ref):
        return value if isinstance(s.heap[value.id], Tensor) else None
    if not isinstance(value, Symbol) or value.kind in ("int", "float", "bool", "str"):
        return None
    known = s.memory.get(Symbol(("tensor", value)))
    if isinstance(known, Ref):
        return known
    ref = engine.unknown_tensor(s, site)
    if value.kind == "data":
        tensor: Tensor = s[ref]
        tensor.requires_grad, tensor.leaf, tensor.unsure_graph = False, True, True
        tensor.severed = m.ledger.numbers.get(value, ())
    s.memory[Symbol(("tensor", value))] = ref
    return ref


def adopt(m: Interpreter, s: State, value: Symbol, site: Any) -> Ref:
    """From now on the symbol is this tensor, wherever it was stored."""
    ref = as_tensor(m, s, value if value.kind == "data" else Symbol(value.key), site)
    assert ref is not None
    s.memory[value] = ref
    frame = s.edit(s.frames[-1])
    for name, held in list(frame.locals.items()):
        if held == value:
            frame.locals[name] = ref
            if isinstance(name, str) and not s[ref].name:
                s.edit(ref).name = name
    return ref


# -- attributes -----------------------------------------------------------------------------------


def get_attribute(m: Interpreter, s: State, ref: Ref, name: str, site: Any) -> Outcomes:
    """`tensor.name`."""
    reader = _ATTRIBUTES.get(name)
    if reader is not None:
        return [(s, reader(m, s, ref, site))]
    if name in (
        "dtype",
        "device",
        "layout",
        "itemsize",
        "nbytes",
        "names",
        "is_cuda",
        "is_sparse",
        "is_quantized",
    ):
        return [(s, Symbol(("attr", ref, name), "data"))]
    key = Symbol(("attr", ref, name))
    if key in s.memory:
        return [(s, s.memory[key])]
    if tensor_native(name) is None and not hasattr_tensor(name):
        return [(s, key)]
    return [(s, Method(ref, name))]


def hasattr_tensor(name: str) -> bool:
    """Is it a method that the tables know?"""
    from gradcheck_tool.engine import optable

    return optable.find(f"torch.Tensor.{name}") is not None


def _grad(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    m.suspicions.clear((ref.id,))
    m.windows.looked_at = True
    tensor: Tensor = s[ref]
    if tensor.is_summary or tensor.grad_state == "unknown":
        return (
            Symbol(("attr", ref, "grad", tensor.grad_state, fresh())) if tensor.grad == NONE else tensor.grad
        )
    if tensor.leaf is False and tensor.requires_grad and not tensor.retains_grad and tensor.grad == NONE:
        m.emit(
            GradRead(
                site=site,
                story=(story(tensor.site, f"`{tensor.name}` is computed here, so it is no leaf"),),
                tensor=str(tensor.name),
                is_leaf=False,
                none_because="non-leaf",
            )
        )
        return NoGradient(None, str(tensor.name), "non-leaf")
    if tensor.grad == NONE and tensor.grad_state == "none" and tensor.requires_grad and tensor.leaf:
        if _made_in_run(m, s, ref):
            return NoGradient(None, str(tensor.name), "no-backward")
    return tensor.grad


def _made_in_run(m: Interpreter, s: State, ref: Ref) -> bool:
    """Is all that has happened to the tensor known? A function run on its own may be called after others."""
    return m.keeper.main or len(s.frames) < 2 or ref.id > s.frames[1].id


def _requires_grad(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    engine.follow_base(s, ref)
    requires_grad = s[ref].requires_grad
    return (
        Const(requires_grad) if requires_grad is not None else Symbol(("attr", ref, "requires_grad"), "bool")
    )


def _is_leaf(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    engine.refresh_view(s, ref)
    leaf = s[ref].leaf
    return Const(leaf) if leaf is not None else Symbol(("attr", ref, "is_leaf"), "bool")


def node_attribute(m: Interpreter, s: State, ref: Ref, name: str, site: Any) -> Value:
    """An attribute of a graph node. What backward has freed cannot be read.

    Raises:
        Raised: for saved fields of a freed node.
    """
    node = s[ref]
    if name.startswith("_saved_") and node.freed and node.frees and not node.unsure_freed:
        steps = (
            story(node.site, f"`{node.text}` saves it here"),
            story(node.freed_site, f"`{node.freed_text}` frees it here"),
        )
        raise Raised(
            InvalidTensorUse(
                site=site,
                story=steps,
                text="Trying to backward through the graph a second time",
                kind="freed-field",
                tensor=str(node.text),
                call=name,
            )
        )
    return Method(ref, name)


def _grad_fn(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    engine.refresh_view(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False or (tensor.leaf and tensor.requires_grad):
        return NONE
    return tensor.grad_fn if tensor.grad_fn is not None else Symbol(("attr", ref, "grad_fn"))


def _shape(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    shape = s[ref].shape
    if shape is None:
        return Symbol(("attr", ref, "shape"), "int")
    return Tup(tuple(_size(ref, i, n) for i, n in enumerate(shape)))


def _size(ref: Ref, axis: int, size: int | None) -> Value:
    return Const(size) if size is not None else Symbol(("size", ref, axis), "int")


def _ndim(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    shape = s[ref].shape
    return Const(len(shape)) if shape is not None else Symbol(("attr", ref, "ndim"), "int")


def _data(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    """Same memory, no history, and writes to it are not counted."""
    m.suspicions.clear((ref.id,))
    tensor: Tensor = s[ref]
    lost = "data" if tensor.requires_grad else tensor.detached_because
    why = (
        (story(site, f"`{tensor.name}.data` leaves the graph"),)
        if tensor.requires_grad
        else tensor.detached_story
    )
    new = engine.new_tensor(
        s, site, dtype=tensor.dtype, shape=tensor.shape, storage=tensor.storage, name=f"{tensor.name}.data"
    )
    made: Tensor = s[new]
    made.view, made.detached_because, made.detached_story = "data", lost, why
    made.inference = tensor.inference and s.inference
    engine.cut_off(s, made, "data", [ref], site, m.label(s, site.node))
    made.grads_of = tensor.grads_of
    made.base, made.overlaps, made.version_counter = ref, tensor.overlaps, Symbol(fresh())
    return new


def _transposed(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    shape = s[ref].shape
    flipped = tuple(reversed(shape)) if shape is not None else None
    return engine.apply(s, PERMUTED, {"self": ref}, site, f"{s[ref].name}.T", [flipped])[0]


def _component(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    """`z.real` and `z.imag`: views of complex tensors; the real part of any other is the tensor itself."""
    tensor: Tensor = s[ref]
    if tensor.dtype == "float":
        return ref
    if tensor.dtype != "complex":
        return unknown()
    effect = dataclasses.replace(STRIDED, dtypes=("float",))
    return engine.apply(s, effect, {"self": ref}, site, m.label(s, site.node), [tensor.shape])[0]


_ATTRIBUTES: dict[str, Any] = {
    "grad": _grad,
    "requires_grad": _requires_grad,
    "is_leaf": _is_leaf,
    "grad_fn": _grad_fn,
    "shape": _shape,
    "ndim": _ndim,
    "data": _data,
    "real": _component,
    "imag": _component,
    "T": _transposed,
    "mT": _transposed,
    "H": _transposed,
}


def set_attribute(
    m: Interpreter, s: State, ref: Ref, name: str, value: Value, site: Any, augmented: bool
) -> None:
    """`tensor.name = value`."""
    if name == "requires_grad":
        set_requires_grad(m, s, ref, conditions.known(s, value), site, "requires_grad = ...", assigned=True)
    elif name == "grad":
        _set_grad(m, s, ref, value, site)
    elif name == "data":
        _set_data(m, s, ref, value, site, augmented)
    else:
        s.memory[Symbol(("attr", ref, name))] = value


def _set_grad(m: Interpreter, s: State, ref: Ref, value: Value, site: Any) -> None:
    tensor = s.edit(ref)
    if value == NONE:
        was_fresh = tensor.grad_state == "fresh"
        tensor.grad, tensor.grad_state = NONE, "none"
        m.emit(GradientsCleared(site=site, target=str(tensor.name), fresh=was_fresh))
        return
    if isinstance(value, Ref) and value == tensor.grad:
        return
    given = s.get(value, Tensor)
    if given is not None and engine.sizes_differ(given.shape, tensor.shape):
        raise Raised(
            InvalidTensorUse(
                site=site,
                story=(story(given.site, f"`{given.name}` has another size"),),
                text="attempting to assign a gradient of size",
                kind="grad-size",
                tensor=str(tensor.name),
                call="grad = ...",
            )
        )
    if isinstance(value, Const):
        kind = type(value.value).__name__
        text = f"assigned grad expected to be a Tensor or None but got grad of type {kind}"
        made = f"`{tensor.name}` is made here"
        raise engine.refused(site, tensor, made, text, "grad-size", "grad = ...", "TypeError")
    tensor.grad = value
    tensor.grad_state = "assigned"


def _set_data(m: Interpreter, s: State, ref: Ref, value: Value, site: Any, augmented: bool) -> None:
    """`x.data = y` swaps the memory unseen by autograd; `x.data op= y` has written to it already."""
    source = s.get(value, Tensor)
    tensor = s.edit(ref)
    if source is not None and source.dtype in ("int", "bool") and tensor.requires_grad and tensor.leaf:
        raise Raised(
            InvalidTensorUse(
                site=site,
                story=(story(source.site, f"`{source.name}` holds integers"),),
                text="data set to a tensor that requires gradients must be floating point or complex dtype",
                kind="data-dtype",
                tensor=str(tensor.name),
                call="data = ...",
            )
        )
    if source is not None and source.storage == tensor.storage:
        note_manual_step(m, s, ref, source, site)
        return
    from gradcheck_tool.library.torch.functions import values_of

    if source is not None and s[source.storage].data == values_of(s, ref):
        return
    engine.swap_memory(s, ref, site, f"{tensor.name}.data = ...")
    if source is not None and isinstance(value, Ref):
        engine.write_off(s, ref, "data", [value], site, f"{tensor.name}.data = ...")
        s.edit(ref).inference = source.inference
        note_manual_step(m, s, ref, source, site)
        if source.dtype is not None:
            tensor = s.edit(ref)
            tensor.dtype = source.dtype
            tensor.shape = source.shape


def note_manual_step(m: Interpreter, s: State, ref: Ref, source: Tensor | None, site: Any) -> None:
    """A tensor updated from its own gradient, or a total from an input's, counts as an optimizer step."""
    target: Tensor = s[ref]
    owner = target.base if target.view in ("data", "detached") and target.base is not None else ref
    if source is None:
        return
    if owner in source.grads_of:
        _use_gradient(m, s.edit(owner), site)
        return
    for at in source.grads_of:
        if not s[at].is_param and target.leaf is True and target.requires_grad is False:  # type: ignore[index]
            _use_gradient(m, s.edit(at), site)  # type: ignore[arg-type]


def _use_gradient(m: Interpreter, leaf: Tensor, site: Any) -> None:
    """The gradient of a leaf is used: for the second time, if nothing has cleared it."""
    if leaf.grad_state == "mixed" and leaf.step_site is not None:
        _note_applied_twice(m, leaf, site)
    if leaf.grad_state in ("fresh", "mixed"):
        leaf.grad_state = "used" if leaf.grad_state == "fresh" else "mixed-used"
        leaf.step_site = site


def note_zeroed(m: Interpreter, s: State, value: Value, site: Any) -> None:
    """All of a tensor was overwritten: if it is the `.grad` of a leaf, that is clearing it."""
    ref = as_tensor(m, s, value, site)
    if ref is None:
        return
    tensor: Tensor = s[ref]
    if tensor.requires_grad is None:
        for group, record in s.records(Tensor):
            if record.is_summary:
                s.edit(group).grad_state = "unknown"
    for leaf in tensor.grads_of:
        held = s.get(s[leaf].grad, Tensor)  # type: ignore[index]
        if held is not None and held.storage == tensor.storage:
            mine = s.edit(leaf)  # type: ignore[arg-type]
            fresh, mine.grad_state = mine.grad_state in ("fresh", "mixed"), "zeroed"
            m.emit(GradientsCleared(site=site, target=str(mine.name), fresh=fresh))


def note_assigned(s: State, value: Value) -> None:
    """All of a tensor was overwritten by other numbers: the `.grad` of a leaf is no gradient any more."""
    tensor = s.get(value, Tensor)
    for leaf in tensor.grads_of if tensor is not None else ():
        held = s.get(s[leaf].grad, Tensor)  # type: ignore[index]
        if tensor is not None and held is not None and held.storage == tensor.storage:
            s.edit(leaf).grad_state = "assigned"  # type: ignore[arg-type]


def _note_applied_twice(m: Interpreter, leaf: Tensor, site: Any) -> None:
    """An update by hand uses a gradient that an earlier one has used already, with a new one added."""
    where = leaf.backward_site
    again = Accumulation(str(leaf.name), "", True, where, leaf.step_site, True)
    steps = (
        story(leaf.step_site, f"the gradient of `{leaf.name}` is used here"),
        story(where, "this backward adds to the gradient, because nothing has cleared it"),
        story(site, "the old gradient is used again together with the new"),
    )
    m.emit(
        BackwardCall(
            site=where,
            story=steps,
            root=receiver_text(where),
            retain_graph=False,
            create_graph=False,
            accumulated=(again,),
        )
    )


def set_requires_grad(
    m: Interpreter, s: State, ref: Ref, on: bool | None, site: Any, how: str, assigned: bool = False
) -> None:
    """Change the flag of a leaf; `assigned`: as an attribute, not by a method.

    Raises:
        Raised: for non-leaves (to False, and where it is assigned) and for integer tensors (to True).
    """
    tensor = s.edit(ref)
    if on is None:
        tensor.requires_grad, tensor.unsure_graph = (
            (None, True) if tensor.leaf is not False else (tensor.requires_grad, tensor.unsure_graph)
        )
        return
    if tensor.leaf is False and (assigned or not on):
        raise engine.refused(
            site,
            tensor,
            f"`{tensor.name}` is computed here, so it is no leaf",
            NON_LEAF_FLAG,
            "non-leaf-flag",
            how,
        )
    if tensor.leaf is False:
        return
    if on and tensor.dtype in ("int", "bool"):
        raise engine.refused(
            site, tensor, f"`{tensor.name}` holds integers", INTEGER_GRAD, "integer-grad", how
        )
    if on and tensor.inference and not s.inference:
        raise engine.refused(
            site,
            tensor,
            f"`{tensor.name}` is made in inference mode",
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
            "inference-write",
            how,
        )
    if on and tensor.requires_grad is False:
        m.thawed[ref.id] = (site, fresh())
    tensor.requires_grad, tensor.leaf, tensor.unsure_graph, tensor.grad_via_base = on, True, False, False
    tensor.grad_fn = None
    if on:
        if tensor.detached_because and tensor.detached_because != "frozen" and tensor.leaf:
            tensor.made_leaf = m.label(s, site.node)
        tensor.detached_because, tensor.detached_story = "", ()
        tensor.site = site if tensor.site is None else tensor.site
    else:
        tensor.detached_because = "frozen"
        tensor.detached_story = (story(site, f"`{tensor.name}` is told not to require grad here"),)


# -- rows and items ---------------------------------------------------------------------------------


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


def get_item(m: Interpreter, s: State, ref: Ref, index: Value, site: Any) -> Value:
    """`tensor[index]`."""
    tensor: Tensor = s[ref]
    kind, tensors = classify(m, s, index, site)
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
    masks.note_item(m, s, ref, index, value, site)
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
    engine.apply_inplace(s, effect, ref, args, site, text)


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


def integer_leaf(site: Any, name: Any, call: Any) -> Raised:
    """The error of a leaf of integers that is to require grad."""
    return Raised(
        InvalidTensorUse(site=site, text=INTEGER_MADE, kind="integer-grad", tensor=str(name), call=str(call))
    )


# -- methods ----------------------------------------------------------------------------------------


def tensor_native(name: str) -> Native | None:
    """The native for a tensor method: one of this file, or an operation of the tables."""
    native = registry.METHODS.get(("tensor", name))
    if native is not None:
        return native
    from gradcheck_tool.library.torch.functions import find_native

    return find_native(f"torch.Tensor.{name}")


def receiver(m: Interpreter, s: State, call: Call) -> Ref:
    """The tensor a method is called on."""
    ref = as_tensor(m, s, call.receiver, call.site)
    assert ref is not None
    return ref


def to_python(m: Interpreter, s: State, ref: Ref, name: str, site: Any, text: Any) -> Value:
    """`float(t)`, `int(t)`, `bool(t)`, `str(t)`: a Python value without history."""
    if name == "str":
        return unknown("str")
    if name == "bool":
        return Symbol(("truth", ref), "bool")
    _check_single(s, ref, site, str(text), "only one element tensors can be converted", "ValueError")
    key = ("number", ref, fresh()) if s[ref].requires_grad else ("number", ref)
    kind = name if name in ("float", "int") else "data"
    return breaks.make_number(m, s, ref, Symbol(key, kind), text, site)


def _check_single(s: State, ref: Ref, site: Any, call: str, text: str, error: str) -> None:
    """Only a tensor of one element is a number.

    Raises:
        Raised: where it has certainly more, or none.
    """
    tensor: Tensor = s[ref]
    if engine.numel_is_one(tensor.shape) is False:
        sizes = "x".join("?" if n is None else str(n) for n in tensor.shape or ())
        why = f"`{tensor.name}` has the shape {sizes}"
        raise engine.refused(site, tensor, why, text, "number-of-many", call, error)


# What Python's own conversions of a tensor give, whatever it holds.
NUMBERS = {"__float__": "float", "__int__": "int", "__bool__": "bool", "__len__": "int", "__index__": "int"}


@method("tensor", "item", "tolist", "__float__", "__int__", "__bool__", "__len__", "__index__")
def item(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    name = call.func.name if isinstance(call.func, Method) else "item"
    if name == "item":
        _check_single(s, ref, call.site, str(call.text), "cannot be converted to Scalar", "RuntimeError")
    kind = NUMBERS.get(name, "float" if name == "item" and s[ref].dtype == "float" else "data")
    return breaks.make_number(m, s, ref, unknown(kind), call.text, call.site)


@method("tensor", "numpy", "__array__")
def numpy(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    engine.follow_base(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad and s.grad and call.kwargs.get("force") != TRUE:
        raise engine.refused(
            call.site, tensor, f"`{tensor.name}` requires grad", NUMPY, "numpy-on-grad", "numpy()"
        )
    array = unknown("data")
    breaks.leave_autograd(m, tensor, array, call.text, call.site)
    # `.cpu()` is a copy wherever the tensor is on another device, which is not known.
    if ".cpu()" not in str(call.text):
        s.memory[Symbol(("array", array))] = ref
    return array


def write_array(s: State, array: Symbol, site: Any, how: Any) -> None:
    """A write to an array: if that is a tensor's memory (`numpy()`), autograd does not see it."""
    ref = s.memory.get(Symbol(("array", array)))
    if isinstance(ref, Ref):
        engine.bump(s, ref, site, how, "inplace", versioned=False)


@method("tensor", "detach")
def detach(m: Interpreter, s: State, call: Call) -> Result:
    """Same memory and version counter, no history."""
    ref = receiver(m, s, call)
    tensor: Tensor = s[ref]
    new = engine.new_tensor(
        s,
        call.site,
        dtype=tensor.dtype,
        shape=tensor.shape,
        storage=tensor.storage,
        name=f"{tensor.name}.detach()",
    )
    made: Tensor = s[new]
    made.view, made.base, made.inference = "detached", ref, tensor.inference
    made.version_counter, made.overlaps = tensor.version_counter, tensor.overlaps
    engine.cut_off(s, made, "detach", [ref], call.site, call.text)
    made.detached_because = "detach" if tensor.requires_grad else tensor.detached_because
    made.detached_story = (
        (story(call.site, f"`{tensor.name}` is detached here"),)
        if tensor.requires_grad
        else tensor.detached_story
    )
    made.grads_of = tensor.grads_of
    if tensor.requires_grad is None:
        made.unsure_graph = False
    return new


@method("tensor", "detach_")
def detach_(m: Interpreter, s: State, call: Call) -> Result:
    """Cut a tensor's history in place; inference mode, which knows of no histories, leaves it."""
    ref = receiver(m, s, call)
    if s.inference:
        return ref
    tensor = s.edit(ref)
    if tensor.base is not None and tensor.view not in engine.APART:
        raise engine.refused(
            call.site, tensor, f"`{tensor.name}` is a view made here", DETACH_VIEW, "detach-view", "detach_()"
        )
    tensor.detached_because = "detach" if tensor.requires_grad else tensor.detached_because
    tensor.detached_story = (story(call.site, f"`{tensor.name}` is detached here"),)
    tensor.requires_grad, tensor.leaf, tensor.grad_fn, tensor.unsure_graph = False, True, None, False
    return ref


@method("tensor", "requires_grad_")
def requires_grad_(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    value = call.get(0, "requires_grad")
    on = True if value is None else conditions.known(s, value)
    set_requires_grad(m, s, ref, on, call.site, "requires_grad_()")
    return ref


@method("tensor", "retain_grad")
def retain_grad(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    # Where the gradient is kept already, PyTorch does not ask for the history of a view.
    if not s[ref].retains_grad:
        engine.refresh_view(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False and not tensor.unsure_graph:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` does not require grad",
            RETAIN_CONSTANT,
            "retain-grad-constant",
            "retain_grad()",
        )
    late = False
    steps: tuple[Any, ...] = ()
    if tensor.grad_fn is not None and tensor.leaf is False:
        node = s[tensor.grad_fn]
        late = node.freed and not node.unsure_freed and not tensor.retains_grad
        steps = (
            story(tensor.site, f"`{tensor.name}` is computed here"),
            story(node.freed_site, "the graph is back-propagated here"),
        )
    if late:
        m.emit(RetainGradCall(site=call.site, story=steps, tensor=str(tensor.name), too_late=True))
    s.edit(ref).retains_grad = True
    return NONE


@method("tensor", "register_hook", "register_post_accumulate_grad_hook")
def register_hook(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    engine.refresh_view(s, ref)
    tensor = s.edit(ref)
    if tensor.requires_grad is False and not tensor.unsure_graph:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` does not require grad",
            HOOK_CONSTANT,
            "hook-on-constant",
            "register_hook()",
        )
    kind = call.func.name if isinstance(call.func, Method) else "register_hook"
    if tensor.leaf is False and tensor.requires_grad and kind != "register_hook":
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` is computed here, so it is no leaf",
            ACCUMULATE_NON_LEAF,
            "hook-on-result",
            f"{kind}()",
        )
    if call.args:
        tensor.hooks = (*tensor.hooks, Tup((Const(kind), call.args[0])))
        if kind == "register_hook":
            from gradcheck_tool.library.torch.hooks import check_tensor_hook

            check_tensor_hook(m, s, call.args[0], str(tensor.name))
    return unknown("data")


@method("tensor", "size")
def size(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    tensor: Tensor = s[ref]
    if not call.args and not call.kwargs:
        return _shape(m, s, ref, call.site)
    axis = call.get(0, "dim")
    if isinstance(axis, Const) and isinstance(axis.value, int):
        if tensor.shape is not None and -len(tensor.shape) <= axis.value < len(tensor.shape):
            return _size(ref, axis.value % len(tensor.shape), tensor.shape[axis.value])
        return Symbol(("size", ref, axis.value), "int")
    return unknown("int")


@method(
    "tensor",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "element_size",
    "stride",
    "storage_offset",
    "data_ptr",
    "get_device",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "equal",
    "is_inference",
    "untyped_storage",
    "storage",
)
def metadata(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else ""
    ref = receiver(m, s, call)
    shape = s[ref].shape
    if name in ("dim", "ndimension"):
        return _ndim(m, s, ref, call.site)
    if name in ("numel", "nelement") and shape is not None and None not in shape:
        total = 1
        for n in shape:
            total *= n or 0
        return Const(total)
    answer = _is_of_kind(s[ref].dtype, name)
    return answer if answer is not None else Symbol(("call", name, (ref,)), "data")


@method("tensor", "share_memory_", "pin_memory", "record_stream", "is_shared", "refine_names", "rename")
def unchanged(m: Interpreter, s: State, call: Call) -> Result:
    return call.receiver


@method(
    "tensor",
    "to",
    "cuda",
    "cpu",
    "type",
    "float",
    "double",
    "half",
    "bfloat16",
    "xpu",
    "mps",
    "type_as",
    "contiguous",
    "npu",
)
def convert(m: Interpreter, s: State, call: Call) -> Result:
    """The same tensor where nothing changes, else a copy; which of the two is often unknown."""
    ref = receiver(m, s, call)
    name = call.func.name if isinstance(call.func, Method) else "to"
    tensor: Tensor = s[ref]
    target = _target_dtype(s, name, call)
    if name == "contiguous":
        return (
            ref
            if tensor.view is None and tensor.shape is not None
            else _maybe_copy(m, s, ref, call, tensor.dtype)
        )
    if target is not None and tensor.dtype is not None and target != tensor.dtype:
        return _cast(m, s, ref, call, target)
    usual = name == "float" or (name == "to" and _is_default_float(call))
    if name in ("to", "double", "half", "bfloat16") and target == tensor.dtype == "float" and not usual:
        return _cast(m, s, ref, call, "float")
    if usual:
        return ref if tensor.dtype == "float" else _maybe_copy(m, s, ref, call, "float")
    if name == "cpu" or (name == "to" and _is_cpu(call)):
        return ref
    return _maybe_copy(m, s, ref, call, target or tensor.dtype)


def _is_default_float(call: Call) -> bool:
    """Is the dtype that `to` gets the one that tensors of floats have unless they are told otherwise?"""
    names = [registry.lib_name(value).rpartition(".")[2] for value in (*call.args, *call.kwargs.values())]
    return "float" in names or "float32" in names


def _is_cpu(call: Call) -> bool:
    value = call.get(0, "device")
    return value == Const("cpu")


def _target_dtype(s: State, name: str, call: Call) -> str | None:
    if name in ("float", "double", "half", "bfloat16"):
        return "float"
    values = [*call.args, *call.kwargs.values()]
    for value in values:
        other = s.get(value, Tensor)
        kind = dtype_class(value) if other is None else other.dtype
        if kind is not None:
            return kind
        if isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("torch."):
            return dtype_class(LibraryObject(value.value))
    return None


def _cast(m: Interpreter, s: State, ref: Ref, call: Call, dtype: str) -> Ref:
    effect = Effect(node="ToCopyBackward0", frees=False, second={"self": ()}, dtypes=(dtype,))
    return engine.apply(s, effect, {"self": ref}, call.site, call.text, [s[ref].shape])[0]


def _maybe_copy(m: Interpreter, s: State, ref: Ref, call: Call, dtype: str | None) -> Ref:
    """Either the tensor itself or a copy: its history is that of a copy, writes to it are unsure."""
    tensor: Tensor = s[ref]
    effect = Effect(node="ToCopyBackward0", frees=False, second={"self": ()}, dtypes=(dtype or "same",))
    if tensor.requires_grad is False and not tensor.unsure_graph:
        out = engine.apply(s, effect, {"self": ref}, call.site, call.text, [tensor.shape])[0]
        s.edit(out).name = tensor.name
        return out
    out = engine.apply(s, effect, {"self": ref}, call.site, call.text, [tensor.shape])[0]
    made = s.edit(out)
    made.name = tensor.name
    if tensor.leaf is not False:
        made.leaf = None
    return out


@method("tensor", "int", "long", "short", "bool", "byte", "char")
def to_integer(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    name = call.func.name if isinstance(call.func, Method) else "long"
    dtype = "bool" if name == "bool" else "int"
    effect = Effect(node="", differentiable=(False,), dtypes=(dtype,))
    return engine.apply(s, effect, {"self": ref}, call.site, call.text, [s[ref].shape])[0]


@method("tensor", "new_tensor")
def new_tensor(m: Interpreter, s: State, call: Call) -> Result:
    """`torch.tensor(...)` with this tensor's dtype."""
    from gradcheck_tool.library.torch.factories import from_data

    made = from_data(m, s, Call(LibraryObject("torch.tensor"), call.args, call.kwargs, call.site, call.text))
    if isinstance(made, Ref) and "dtype" not in call.kwargs:
        s.edit(made).dtype = s[receiver(m, s, call)].dtype
    return made


@method("tensor", "new_zeros", "new_ones", "new_empty", "new_full", "new")
def new_like(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.library.torch.sizes import factory_shape

    ref = receiver(m, s, call)
    on = call.flag(-1, "requires_grad", False)
    return engine.new_tensor(
        s,
        call.site,
        requires_grad=on,
        dtype=dtype_class(call.kwargs.get("dtype")) or s[ref].dtype,
        shape=factory_shape(s, call.args),
        name=call.text,
    )


@method("tensor", "set_", "resize_", "resize_as_")
def reshape_memory(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.library.torch.sizes import factory_shape

    ref = receiver(m, s, call)
    name = call.func.name if isinstance(call.func, Method) else "set_"
    tensor: Tensor = s[ref]
    if name.startswith("resize") and tensor.requires_grad and not s.inference:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` requires grad",
            "cannot resize variables that require grad",
            "resize-grad",
            f"{name}()",
        )
    if name == "set_" and tensor.view in ("detached", "data"):
        engine.swap_memory(s, ref, call.site, call.text)
        return ref
    if name == "resize_" and tensor.shape is not None and factory_shape(s, call.args) == tensor.shape:
        return ref
    others = [r for value in call.args if (r := as_tensor(m, s, value, call.site)) is not None]
    engine.apply_inplace(s, NO_DERIVATIVE, ref, {"self": ref, "source": others}, call.site, call.text)
    node = s[ref].grad_fn
    if node is not None and s[node].op == NO_DERIVATIVE.node:
        s.edit(node).broken = f"derivative for {name} is not implemented"
    s.edit(ref).shape = None
    return ref
