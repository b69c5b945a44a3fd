"""`torch.autograd.functional` and `torch.func`: the function is run on inputs that require grad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.events import InvalidTensorUse, NoGraph, NonScalarRoot
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance, List
from gradcheck_tool.domain.shapes import size_text
from gradcheck_tool.domain.values import FALSE, NONE, Const, LibraryObject, Tup, Value, unknown
from gradcheck_tool.engine.errors import Raised, story, with_gaps
from gradcheck_tool.interp.exceptions import guard
from gradcheck_tool.interp.registry import Result, function, lib_name, method
from gradcheck_tool.library.torch.tensor_attributes import INTEGER_GRAD

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

SINGLE = "The Tensor returned by the function given to {} should contain a single element"
NO_VECTOR = "The vector v can only be None if the user-provided function returns a single Tensor"
VECTOR = "v has invalid size: should be torch.Size({}) but got torch.Size({})"
STRICT = "Output 0 of the user-provided function does not require gradients."
SCALAR = "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor"
_SCALAR_ONLY = ("hessian", "hvp", "vhp")
# Containers of inputs are followed into so many inside: one may be inside itself.
NESTED = 4


@function(*(f"torch.autograd.functional.{n}" for n in ("jacobian", "hessian", "vjp", "jvp", "hvp", "vhp")))
def differentiate(m: Interpreter, s: State, call: Call) -> Result:
    """Run the function once on leaves of its own; without create_graph the result is a constant.

    Raises:
        Raised: for inputs of integers.
    """
    name = lib_name(call.func).rpartition(".")[2]
    inputs = call.get(1, "inputs") or unknown()
    given: list[Value] = list(inputs.items) if isinstance(inputs, Tup) else [inputs]
    leaves = [_leaf(s, value, call) for value in given]
    before, s.grad = s.grad, True
    out: Outcomes = []
    for state, value in m.call(s, call.get(0, "func") or unknown(), leaves, {}, call.site):
        state.grad = before
        if state.exc is not None:
            out.append((state, NONE))
            continue
        out += guard(m, state, _result, state, name, given, value, call)
    return out


def _leaf(s: State, value: Value, call: Call, deep: int = NESTED) -> Value:
    """What the function is given in place of an input."""
    tensor = s.get(value, Tensor)
    if tensor is None:
        return _leaves_within(s, value, call, deep - 1) if deep else value
    if tensor.dtype in ("int", "bool"):
        why = f"`{tensor.name}` holds integers"
        raise engine.refused(call.site, tensor, why, INTEGER_GRAD, "integer-grad", str(call.text))
    leaf = engine.new_tensor(
        s, call.site, requires_grad=True, dtype=tensor.dtype, shape=tensor.shape, name=tensor.name
    )
    s[leaf].storage = tensor.storage
    return leaf


def _leaves_within(s: State, value: Value, call: Call, deep: int) -> Value:
    """The same for a container of tensors, such as a dict of parameters."""
    if isinstance(value, Tup):
        items = tuple(_leaf(s, item, call, deep) for item in value.items)
        return Tup(items, value.fields, value.cls, value.open)
    table, row = s.get(value, Dict), s.get(value, List)
    if table is not None:
        return s.new(Dict({k: _leaf(s, v, call, deep) for k, v in table.items.items()}, open=table.open))
    if row is not None:
        return s.new(List([_leaf(s, item, call, deep) for item in row.items], row.open))
    return value


def _result(s: State, name: str, given: list[Value], value: Value, call: Call) -> Value:
    tensor = s.get(value, Tensor)
    vector = call.get(2, "v") if name in ("vjp", "jvp", "hvp", "vhp") else None
    if tensor is not None:
        _check_output(s, name, tensor, vector, call)
    like = tensor if name == "vjp" else s.get(next(iter(given), None), Tensor)
    if vector is not None and like is not None:
        _check_vector(s, like, vector, call)
    first = 3 if name in ("vjp", "jvp", "hvp", "vhp") else 2
    if call.flag(first, "create_graph", False) is not False or len(given) != 1 or tensor is None:
        return unknown()
    result = engine.new_tensor(s, call.site, name=call.text)
    made: Tensor = s[result]
    made.detached_because = "create-graph"
    why = f"`{call.text}` is called without create_graph=True, so its result has no graph"
    made.detached_story = (story(call.site, why, "cut"),)
    engine.cut_off(s, made, "create-graph", [value], call.site, call.text)  # type: ignore[list-item]
    if name in ("jacobian", "hessian"):
        return result
    return Tup((engine.new_tensor(s, call.site, name=call.text, shape=tensor.shape), result))


def _check_output(s: State, name: str, tensor: Tensor, vector: Value | None, call: Call) -> None:
    """What the function may return."""
    single = engine.numel_is_one(tensor.shape)
    text = SINGLE.format(name) if name in _SCALAR_ONLY else NO_VECTOR
    if single is False and (name in _SCALAR_ONLY or (name == "vjp" and vector in (None, NONE))):
        raise Raised(
            NonScalarRoot(
                site=call.site,
                story=(story(tensor.site, f"`{tensor.name}` is made here", "made", tensor),),
                text=text,
                root=str(tensor.name),
                call=name,
            )
        )
    if tensor.requires_grad is False and not tensor.unsure_graph and call.flag(-1, "strict", False) is True:
        raise Raised(
            NoGraph(
                site=call.site,
                story=tensor.detached_story
                or (story(tensor.site, f"`{tensor.name}` is made here", "made", tensor),),
                text=STRICT,
                root=str(tensor.name),
                reason=tensor.detached_because or "constant",
                call="grad",
            )
        )


def _check_vector(s: State, like: Tensor, vector: Value, call: Call) -> None:
    given = s.get(vector, Tensor)
    if given is not None and engine.sizes_differ(given.shape, like.shape):
        sizes = size_text(given.shape), size_text(like.shape)
        raise Raised(
            InvalidTensorUse(
                site=call.site,
                story=(story(given.site, f"`{given.name}` is made here", "made", given),),
                text=with_gaps(VECTOR.format(*reversed(sizes))),
                kind="grad-size",
                tensor=str(like.name),
                call=str(call.text),
                sizes=sizes,
            )
        )


@function("torch.func.grad", "torch.func.grad_and_value", "functorch.grad", "functorch.grad_and_value")
def gradient_of(m: Interpreter, s: State, call: Call) -> Result:
    """A function that computes the gradient of another."""
    return s.new(
        Instance(
            LibraryObject("#gradient-of"),
            {
                "#func": call.get(0, "func") or unknown(),
                "#argnums": call.get(1, "argnums") or Const(0),
                "#aux": call.get(2, "has_aux") or FALSE,
            },
        )
    )


@method("#gradient-of", "__call__")
def run_gradient(m: Interpreter, s: State, call: Call) -> Result:
    """Run the function on leaves in place of the chosen arguments; it must return a single number."""
    attrs = s[call.self].attrs
    chosen = attrs["#argnums"]
    places = chosen.items if isinstance(chosen, Tup) else (chosen,)
    wanted = [place.value for place in places if isinstance(place, Const)]
    args = [_leaf(s, a, call) if i in wanted else a for i, a in enumerate(call.args)]
    before = s.grad
    out: Outcomes = []
    for state, value in m.call(s, attrs["#func"], args, call.kwargs, call.site, unsure=call.unsure):
        state.grad = before
        if attrs["#aux"] == Const(True):
            value = value.items[0] if isinstance(value, Tup) and value.items else unknown()
        tensor = state.get(value, Tensor)
        if state.exc is None and tensor is not None and tensor.shape:
            event = NonScalarRoot(
                site=call.site,
                story=(story(tensor.site, f"`{tensor.name}` is made here", "made", tensor),),
                text=SCALAR,
                root=str(tensor.name),
                call="grad",
            )
            m.raise_exception(state, "RuntimeError", event)
        out.append((state, unknown()))
    return out


_OPAQUE = ("vmap", "jacrev", "jacfwd", "vjp", "jvp", "hessian")


@function("torch.vmap", *(f"torch.func.{name}" for name in _OPAQUE))
def transform(m: Interpreter, s: State, call: Call) -> Result:
    """Transforms have gradients of their own; what they return is not followed."""
    return unknown()
