"""Tensors as Python numbers and NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import (
    TRUE,
    Method,
    Ref,
    Symbol,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine.cuts import cut_to_array, cut_to_number
from gradcheck_tool.interp.facts import Used
from gradcheck_tool.interp.havoc import graph_behind
from gradcheck_tool.interp.registry import Result, method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
from gradcheck_tool.library.torch.tensor_values import receiver

NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."


def to_python(m: Interpreter, s: State, ref: Ref, name: str, site: Any, text: Any) -> Value:
    """`float(t)`, `int(t)`, `bool(t)`, `str(t)`: a Python value without history."""
    if name == "str":
        return unknown("str")
    if name == "bool":
        return Symbol(("truth", ref), "bool")
    _check_single(
        m,
        s,
        ref,
        site,
        str(text),
        "only one element tensors can be converted to Python scalars",
        "ValueError",
    )
    key = ("number", ref, fresh()) if s[ref].requires_grad else ("number", ref)
    kind = name if name in ("float", "int") else "data"
    return cut_to_number(s, ref, Symbol(key, kind), text, site)


def _check_single(m: Interpreter, s: State, ref: Ref, site: Any, call: str, text: str, error: str) -> None:
    """Only a tensor of one element is a number.

    Raises:
        Raised: where it has certainly more, or none.
    """
    tensor: Tensor = s[ref]
    # That data are missing is asked for so that it is handled: `if not index.numel(): size = 0`.
    is_special = 0 in (tensor.shape or ()) and bool(s.path_condition)
    if engine.numel_is_one(tensor.shape) is False and not is_special:
        sizes = "x".join("?" if n is None else str(n) for n in tensor.shape or ())
        why = f"`{tensor.name}` has the shape {sizes}"
        raise engine.refused(site, tensor, why, text, "number-of-many", call, error)
    m.tell(s, Used(ref, "number", site))


# What Python's own conversions of a tensor give, whatever it holds.
NUMBERS = {"__float__": "float", "__int__": "int", "__bool__": "bool", "__len__": "int", "__index__": "int"}


@method("tensor", "item", "tolist", "__float__", "__int__", "__bool__", "__len__", "__index__")
def item(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    name = call.func.name if isinstance(call.func, Method) else "item"
    if name == "item":
        text = "a Tensor with ... elements cannot be converted to Scalar"
        _check_single(m, s, ref, call.site, str(call.text), text, "RuntimeError")
    kind = NUMBERS.get(name, "float" if name == "item" and s[ref].dtype == "float" else "data")
    return cut_to_number(s, ref, unknown(kind), call.text, call.site)


@method("tensor", "numpy", "__array__")
def numpy(m: Interpreter, s: State, call: Call) -> Result:
    ref = receiver(m, s, call)
    engine.follow_base(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad and s.grad and call.kwargs.get("force") != TRUE:
        raise engine.refused(
            call.site,
            tensor,
            f"`{tensor.name}` requires grad",
            NUMPY,
            "numpy-on-grad",
            "numpy()",
            is_certain=has_graph_for_sure(s, ref),
        )
    array = unknown("data")
    cut_to_array(s, tensor, array, call.text, call.site)
    # `.cpu()` is a copy wherever the tensor is on another device, which is not known.
    if ".cpu()" not in str(call.text):
        s.memory[Symbol(("array", array))] = ref
    return array


def has_graph_for_sure(s: State, ref: Ref) -> bool:
    """Does code in sight show that it requires a gradient, whatever is assumed of objects that are not?

    It has been differentiated, or rests on a leaf that is no parameter, which code has made so.
    """
    node = s.get(engine.history(s, ref), Node)
    if node is not None and node.freed:
        return True
    behind = (s.get(at, Tensor) for at in graph_behind(s, engine.history(s, ref)))
    return any(leaf is not None and leaf.requires_grad is True and not leaf.is_param for leaf in behind)


def write_array(s: State, array: Symbol, site: Any, how: Any) -> None:
    """A write to an array: if that is a tensor's memory (`numpy()`), autograd does not see it."""
    ref = s.memory.get(Symbol(("array", array)))
    if isinstance(ref, Ref):
        engine.bump(s, ref, site, how, "inplace", versioned=False)
