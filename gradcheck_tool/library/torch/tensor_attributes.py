"""Attributes of tensors: reading and assigning `grad`, `data`, `requires_grad`, `grad_fn` and others."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.events import InvalidTensorUse
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.shapes import size_text
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    Method,
    NoGradient,
    Ref,
    Symbol,
    Tup,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine.errors import Raised, story, with_gaps
from gradcheck_tool.interp import conditions
from gradcheck_tool.interp.facts import GradientsCleared, Taken
from gradcheck_tool.interp.havoc import graph_behind
from gradcheck_tool.interp.registry import Result, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes
from gradcheck_tool.library.torch.manual_updates import note_manual_step
from gradcheck_tool.library.torch.module_tree import doubt_unlisted_with
from gradcheck_tool.library.torch.operator_calls import tensor_native
from gradcheck_tool.library.torch.tensor_effects import PERMUTED, STRIDED
from gradcheck_tool.library.torch.tensor_values import receiver

NON_LEAF_FLAG = "you can only change requires_grad flags of leaf variables."


INTEGER_GRAD = "only Tensors of floating point dtype can require gradients"


# Attributes that are neither tensors nor tell anything of gradients.
_DATA = frozenset(
    {
        "device",
        "dtype",
        "is_cuda",
        "is_quantized",
        "is_sparse",
        "itemsize",
        "layout",
        "names",
        "nbytes",
    }
)


def has_attribute(name: str) -> bool:
    """Has every tensor an attribute or a method of that name, as far as the tables know?"""
    from gradcheck_tool.engine import optable

    if name in _ATTRIBUTES or name in _DATA or tensor_native(name) is not None:
        return True
    return optable.find(f"torch.Tensor.{name}") is not None


def get_attribute(m: Interpreter, s: State, ref: Ref, name: str, site: Any) -> Outcomes:
    """`tensor.name`."""
    reader = _ATTRIBUTES.get(name)
    if reader is not None:
        return [(s, reader(m, s, ref, site))]
    if name in _DATA:
        return [(s, Symbol(("attr", ref, name), "data"))]
    key = Symbol(("attr", ref, name))
    if key in s.memory:
        return [(s, s.memory[key])]
    if not has_attribute(name):
        return [(s, key)]
    return [(s, Method(ref, name))]


def _grad(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    m.tell(s, Taken((ref,), "grad", site))
    tensor: Tensor = s[ref]
    if tensor.is_summary or tensor.grad_state == "unknown":
        return (
            Symbol(("attr", ref, "grad", tensor.grad_state, fresh())) if tensor.grad == NONE else tensor.grad
        )
    if tensor.leaf is False and tensor.requires_grad and not tensor.retains_grad and tensor.grad == NONE:
        return NoGradient(None, str(tensor.name), "non-leaf")
    if tensor.grad == NONE and tensor.grad_state == "none" and tensor.leaf and _is_its_own(s, ref):
        if tensor.requires_grad:
            return NoGradient(None, str(tensor.name), "no-backward")
        if tensor.requires_grad is False:
            return NoGradient(None, str(tensor.name), "frozen")
    return tensor.grad


def _is_its_own(s: State, ref: Ref) -> bool:
    """Is all that has happened to a tensor's gradient known, or all since it was cleared?

    A function that is run on its own may be called after others.
    """
    made_in_run = not s.after_body or len(s.frames) < 2 or ref.id > s.frames[1].id
    return made_in_run or Symbol(("cleared", ref)) in s.memory


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
            story(node.site, f"`{node.text}` saves it here", "saved"),
            story(node.freed_site, f"`{node.freed_text}` frees it here", "freed"),
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


def ndim_of(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    shape = s[ref].shape
    return Const(len(shape)) if shape is not None else Symbol(("attr", ref, "ndim"), "int")


def _data(m: Interpreter, s: State, ref: Ref, site: Any) -> Value:
    """Same memory, no history, and writes to it are not counted."""
    m.tell(s, Taken((ref,), "data", site))
    tensor: Tensor = s[ref]
    lost = "data" if tensor.requires_grad else tensor.detached_because
    why = (
        (story(site, f"`{tensor.name}.data` leaves the graph", "alias", tensor),)
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
    "_grad": _grad,
    "requires_grad": _requires_grad,
    "is_leaf": _is_leaf,
    "grad_fn": _grad_fn,
    "shape": _shape,
    "ndim": ndim_of,
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
    elif name in ("grad", "_grad"):
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
        doubt_unlisted_with(s, ref)
        m.tell(s, GradientsCleared((), site, str(tensor.name), was_fresh))
        return
    if isinstance(value, Ref) and value == tensor.grad:
        return
    given = s.get(value, Tensor)
    if given is not None and engine.sizes_differ(given.shape, tensor.shape):
        sizes = size_text(given.shape), size_text(tensor.shape)
        text = f"attempting to assign a gradient of size '{sizes[0]}' to a tensor of size '{sizes[1]}'"
        raise Raised(
            InvalidTensorUse(
                site=site,
                story=(story(given.site, f"`{given.name}` has another size"),),
                text=with_gaps(text),
                kind="grad-size",
                tensor=str(tensor.name),
                call="grad = ...",
                sizes=sizes,
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
                story=(story(source.site, f"`{source.name}` holds integers", "made", source),),
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
    s.edit(ref).shape = source.shape if source is not None else None
    if source is not None and isinstance(value, Ref):
        engine.write_off(s, ref, "data", [value], site, f"{tensor.name}.data = ...")
        s.edit(ref).inference = source.inference
        note_manual_step(m, s, ref, source, site)
        if source.dtype is not None:
            s.edit(ref).dtype = source.dtype


def _doubt_history(s: State, start: Ref) -> None:
    """Whether these nodes exist is not known, and so not whether a pass frees them."""
    for ref in graph_behind(s, start):
        if s.get(ref, Node) is not None:
            s.edit(ref).unsure_freed = True


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
            f"`{tensor.name}` is computed here, so it is not a leaf",
            NON_LEAF_FLAG,
            "non-leaf-flag",
            how,
        )
    if tensor.leaf is False:
        return
    if on and not assigned and tensor.leaf is None and tensor.grad_fn is not None:
        # It is computed from what is not known: where it has a graph, that stays, and a pass goes through it.
        _doubt_history(s, tensor.grad_fn)
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
        m.tell(s, Taken((ref,), "thawed", site))
    tensor.requires_grad, tensor.leaf, tensor.unsure_graph, tensor.grad_via_base = on, True, False, False
    tensor.grad_fn = None
    if on:
        if tensor.detached_because and tensor.detached_because != "frozen" and tensor.leaf:
            tensor.made_leaf = m.label(s, site.node)
        tensor.detached_because, tensor.detached_story = "", ()
        tensor.site = site if tensor.site is None else tensor.site
    else:
        tensor.detached_because = "frozen"
        tensor.detached_story = (
            story(site, f"`{tensor.name}` is set not to require grad here", "cut", tensor),
        )


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
