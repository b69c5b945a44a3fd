"""Methods of tensors that convert them or make new ones like them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    Const,
    LibraryObject,
    Method,
    Ref,
    Symbol,
    Value,
)
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.registry import Result, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
from gradcheck_tool.library.torch.dtypes import is_default_float, requested_dtype, target_dtype
from gradcheck_tool.library.torch.tensor_effects import NO_DERIVATIVE
from gradcheck_tool.library.torch.tensor_values import as_tensor, receiver

# What makes floats of another size than tensors have by default.
_OTHER_FLOATS = re.compile(r"\b(?:half|double|b?float(?:16|64)|HalfTensor|DoubleTensor|autocast)\b")


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
    target = target_dtype(s, name, call, tensor.dtype)
    if name == "contiguous":
        return (
            ref
            if tensor.view is None and tensor.shape is not None
            else _maybe_copy(m, s, ref, call, tensor.dtype)
        )
    if target and tensor.dtype is not None and target != tensor.dtype:
        return _cast(m, s, ref, call, target)
    if _is_like_another(s, name, call, tensor):
        return ref
    usual = name == "float" or (name in ("to", "type") and is_default_float(call))
    if name in ("to", "double", "half", "bfloat16") and target == tensor.dtype == "float" and not usual:
        return _cast(m, s, ref, call, "float")
    if usual:
        return ref if tensor.dtype == "float" else _maybe_copy(m, s, ref, call, "float")
    if name == "cpu" or (name == "to" and _is_cpu(call)):
        return ref
    return _maybe_copy(m, s, ref, call, tensor.dtype if target is None else target)


def _is_cpu(call: Call) -> bool:
    value = call.get(0, "device")
    return value == Const("cpu")


def _is_like_another(s: State, name: str, call: Call, tensor: Tensor) -> bool:
    """Does it ask for nothing but the data type of another tensor of floats, as it is one itself?

    In full precision and on one device nothing changes, unless the file converts to other types of floats.
    """
    if name not in ("to", "type", "type_as") or call.unsure or tensor.dtype != "float":
        return False
    if _converts_to_other_floats(call.site.module.source):
        return False
    asked = [_tensor_asked(s, value) for value in (*call.args, *call.kwargs.values())]
    return len(asked) == 1 and asked[0] is not None and asked[0].dtype == "float"


@lru_cache(maxsize=64)
def _converts_to_other_floats(source: str) -> bool:
    return _OTHER_FLOATS.search(source) is not None


def _tensor_asked(s: State, value: Value) -> Tensor | None:
    """The tensor whose data type is asked for, by itself or by its `dtype`."""
    key = value.key if isinstance(value, Symbol) else None
    return s.get(key[1] if isinstance(key, tuple) and key[::2] == ("attr", "dtype") else value, Tensor)


def _cast(m: Interpreter, s: State, ref: Ref, call: Call, dtype: str) -> Ref:
    effect = Effect(node="ToCopyBackward0", frees=False, second={"self": ()}, dtypes=(dtype,))
    return engine.apply(s, effect, {"self": ref}, call.site, call.text, [s[ref].shape])[0]


def _maybe_copy(m: Interpreter, s: State, ref: Ref, call: Call, dtype: str | None) -> Ref:
    """Either the tensor itself or a copy: its history is that of a copy, writes to it are unsure.

    `dtype` is the kind of its data type: None for the tensor's own, "" for one that is not known.
    """
    tensor: Tensor = s[ref]
    kind = "same" if dtype is None else dtype
    effect = Effect(node="ToCopyBackward0", frees=False, second={"self": ()}, dtypes=(kind,))
    out = engine.apply(s, effect, {"self": ref}, call.site, call.text, [tensor.shape])[0]
    made = s.edit(out)
    made.name = tensor.name
    if tensor.is_param:
        made.is_param = None
    has_graph = tensor.requires_grad is not False or tensor.unsure_graph
    if has_graph and tensor.leaf is not False:
        made.leaf = None
    if tensor.requires_grad and made.requires_grad is False:
        # A copy that is made with gradients switched off needs none; the tensor itself still does.
        made.requires_grad, made.leaf, made.detached_because = None, None, ""
    return out


@method(
    "tensor",
    "resize",
    "resize_as",
    "coalesce",
    "to_dense",
    "to_sparse_coo",
    "to_sparse_csr",
    "to_sparse_csc",
    "to_sparse_bsr",
    "to_sparse_bsc",
    "to_mkldnn",
)
def laid_out_anew(m: Interpreter, s: State, call: Call) -> Result:
    """The same elements in another shape or layout, perhaps in the same memory."""
    ref = receiver(m, s, call)
    new = _maybe_copy(m, s, ref, call, s[ref].dtype)
    s.edit(new).shape = None
    return new


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
    # `x.new()` has no elements.
    is_empty = isinstance(call.func, Method) and call.func.name == "new" and not (call.args or call.unsure)
    return engine.new_tensor(
        s,
        call.site,
        requires_grad=on,
        dtype=requested_dtype(s, call, s[ref].dtype),
        shape=(0,) if is_empty else factory_shape(s, call.args),
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
