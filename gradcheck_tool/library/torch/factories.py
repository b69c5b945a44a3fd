"""Functions that make tensors out of sizes, numbers or other data: new leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import GRAPH, NONE, Const, Ref, Symbol, Tup, Value
from gradcheck_tool.engine.cuts import cuts_within
from gradcheck_tool.engine.errors import story
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.constants import is_from_arguments
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.dtypes import TENSOR_CLASSES, dtype_class, requested_dtype
from gradcheck_tool.library.torch.sizes import factory_shape, size_of
from gradcheck_tool.library.torch.tensor_methods import integer_leaf
from gradcheck_tool.library.torch.tensor_values import adopt, as_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.shapes import Shape
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

# Lists of numbers are followed into so many lists inside: one may be inside itself.
NESTED = 8
FACTORIES = {
    "zeros": None,
    "ones": None,
    "rand": None,
    "randn": None,
    "empty": None,
    "full": None,
    "eye": None,
    "linspace": None,
    "logspace": None,
    "arange": None,
    "randint": "int",
    "randperm": "int",
}


@function(*(f"torch.{name}" for name in FACTORIES))
def factory(m: Interpreter, s: State, call: Call) -> Result:
    """`torch.zeros(...)` and the like: a new leaf."""
    name = registry.lib_name(call.func).rpartition(".")[2]
    dtype = requested_dtype(s, call, FACTORIES[name] or _factory_dtype(name, call))
    return _leaf(m, s, call, dtype, _shape_of_factory(s, name, call))


@function("torch.normal")
def normal(m: Interpreter, s: State, call: Call) -> Result:
    """Samples with a history that leads to the parameters, and derivatives that are zero."""
    given = {name: s.get(call.get(index, name), Tensor) for index, name in enumerate(("mean", "std"))}
    args = {name: call.get(index, name) for index, name in enumerate(given) if given[name] is not None}
    if not args:
        size = call.get(2, "size")
        return _leaf(m, s, call, "float", factory_shape(s, [size]) if size is not None else None)
    shapes = [tensor.shape for tensor in given.values() if tensor is not None]
    effect = engine.Effect(node="NormalBackward", frees=False)
    return engine.apply(s, effect, args, call.site, call.text, (shapes[0] if len(shapes) == 1 else None,))[0]  # type: ignore[arg-type]


def _factory_dtype(name: str, call: Call) -> str | None:
    if name == "arange":
        values = [registry.const(a) for a in call.args]
        if None in values:
            return None
        return "float" if any(isinstance(v, float) for v in values) else "int"
    if name == "full":
        fill = registry.const(call.get(1, "fill_value"))
        return {bool: "bool", int: "int", float: "float"}.get(type(fill))
    return "float"


def _shape_of_factory(s: State, name: str, call: Call) -> Shape:
    if call.unsure:
        return None
    if name in ("arange", "linspace", "logspace"):
        return (_steps(call.args) if name == "arange" else size_of(call.get(2, "steps")),)
    if name == "randperm":
        return (None,)
    if name == "eye":
        sizes = [size_of(a) for a in call.args]
        return tuple(sizes * 2 if len(sizes) == 1 else sizes[:2]) if None not in sizes else None
    if name == "randint":
        given = [a for a in call.args if isinstance(a, (Tup, Ref))]
        size = call.kwargs.get("size") or (given[-1] if given else None)
        return factory_shape(s, [size]) if size is not None else None
    if name == "full":
        size = call.get(0, "size")
        return factory_shape(s, [size]) if size is not None else None
    return factory_shape(s, [call.kwargs["size"]] if "size" in call.kwargs else call.args)


def _steps(ends: Sequence[Value]) -> int | None:
    """How many numbers `arange` gives."""
    known = [size for size in map(size_of, ends) if size is not None]
    if not known or len(known) != len(ends) or len(known) > 3:
        return None
    start, stop, step = (0, *known, 1) if len(known) == 1 else (*known, 1)[:3]
    return max(-((start - stop) // step), 0) if step else None


def _leaf(m: Interpreter, s: State, call: Call, dtype: str | None, shape: Shape) -> Ref:
    out = as_tensor(m, s, call.kwargs["out"], call.site) if "out" in call.kwargs else None
    if out is not None:
        engine.bump(s, out, call.site, str(call.text), "inplace")
        return out
    on = call.flag(-1, "requires_grad", False)
    if on and dtype in ("int", "bool"):
        raise integer_leaf(call.site, call.text, call.text)
    return engine.new_tensor(
        s, call.site, requires_grad=on, leaf=True, dtype=dtype, shape=shape, name=call.text
    )


@function(
    "torch.zeros_like",
    "torch.ones_like",
    "torch.rand_like",
    "torch.randn_like",
    "torch.empty_like",
    "torch.full_like",
    "torch.randint_like",
)
def like(m: Interpreter, s: State, call: Call) -> Result:
    source = as_tensor(m, s, call.args[0], call.site) if call.args else None
    dtype = requested_dtype(s, call, s[source].dtype if source is not None else None)
    return _leaf(m, s, call, dtype, s[source].shape if source is not None else None)


@function(
    "torch.tensor",
    "torch.as_tensor",
    "torch.from_numpy",
    "torch.Tensor",
    "torch.asarray",
    "torch.frombuffer",
    "torch.scalar_tensor",
    *(f"{place}.{name}" for place in ("torch", "torch.cuda") for name in TENSOR_CLASSES),
)
def from_data(m: Interpreter, s: State, call: Call) -> Result:
    """Tensors from data: new leaves, whatever the history of the data was."""
    name = registry.lib_name(call.func).rpartition(".")[2]
    data = call.get(0, "data") or NONE
    if isinstance(data, Symbol) and data.kind == GRAPH:
        data = adopt(m, s, data, call.site)
    source = s.get(data, Tensor)
    if name in ("as_tensor", "asarray") and source is not None:
        return data
    fixed = "float" if name == "Tensor" else dtype_class(call.func)
    dtype = requested_dtype(s, call, fixed or _data_dtype(s, data))
    shape = _data_shape(s, data)
    if name.endswith("Tensor") and not isinstance(data, Tup) and s.get(data, List) is None and source is None:
        shape = factory_shape(s, call.args) if call.args else (0,)
    ref = _leaf(m, s, call, dtype, shape)
    cuts = cuts_within(s, data)
    if cuts:
        s[ref].severed = cuts
        s[ref].made_leaf = call.text if s[ref].requires_grad else ""
        s[ref].detached_because = s[ref].detached_because or ("item" if cuts[-1].kind == "item" else "numpy")
    elif s[ref].requires_grad and _may_be_computed(s, data):
        s[ref].made_leaf = call.text
    parts = [data] if source is not None else elements(s, data)[0]
    for part in parts:
        inner = s.get(part, Tensor)
        if inner is not None and inner.requires_grad and not s[ref].detached_because:
            made = s.edit(ref)
            engine.cut_off(s, made, "retensor", [part], call.site, call.text)  # type: ignore[list-item]
            made.made_leaf = call.text if made.requires_grad else ""
            made.detached_because = "retensor"
            made.detached_story = (
                story(
                    call.site,
                    f"`{call.text}` copies values and leaves the history of `{inner.name}` behind",
                    "cut",
                ),
            )
        elif (
            isinstance(part, Symbol)
            and isinstance(part.key, tuple)
            and part.key[0] == "number"
            and not s[ref].detached_because
        ):
            s.edit(ref).detached_because = "item"
    return ref


@function("torch.sparse_coo_tensor", "torch.sparse.FloatTensor")
def sparse(m: Interpreter, s: State, call: Call) -> Result:
    """A sparse matrix of values: their gradient is read off at the places that the matrix has saved."""
    size = factory_shape(s, [call.get(2, "size")]) if call.get(2, "size") is not None else None  # type: ignore[list-item]
    values = as_tensor(m, s, call.get(1, "values") or NONE, call.site)
    if values is None or call.flag(-1, "requires_grad", False):
        return _leaf(m, s, call, requested_dtype(s, call, "float"), size)
    effect = engine.Effect("SparseCooTensorWithDimsAndTensorsBackward0", saves={"out": None}, frees=True)
    return engine.apply(s, effect, {"values": values}, call.site, call.text, (size,))[0]


def _may_be_computed(s: State, data: Value, deep: int = NESTED) -> bool:
    """May data be the result of a computation that has a graph, or numbers of one?"""
    tensor = s.get(data, Tensor)
    if tensor is not None:
        return tensor.requires_grad is None
    if isinstance(data, Symbol):
        return data.kind in ("float", "data", None) and not is_from_arguments(s, data)
    return deep > 0 and any(_may_be_computed(s, part, deep - 1) for part in elements(s, data)[0])


def _data_dtype(s: State, data: Value, deep: int = NESTED) -> str | None:
    tensor = s.get(data, Tensor)
    if tensor is not None:
        return tensor.dtype
    if isinstance(data, Const):
        return {bool: "bool", int: "int", float: "float", complex: "complex"}.get(type(data.value))
    items = elements(s, data)[0] if deep else []
    kinds = {_data_dtype(s, item, deep - 1) for item in items}
    if None in kinds or not kinds:
        return None
    return (
        "complex"
        if "complex" in kinds
        else "float"
        if "float" in kinds
        else "int"
        if "int" in kinds
        else "bool"
    )


def _data_shape(s: State, data: Value, deep: int = NESTED) -> Shape:
    tensor = s.get(data, Tensor)
    if tensor is not None:
        return tensor.shape
    if isinstance(data, Const):
        return () if isinstance(data.value, (int, float, bool, complex)) else None
    if isinstance(data, Symbol) and data.kind in ("int", "float", "bool"):
        return ()
    if deep and (isinstance(data, Tup) or s.get(data, List) is not None):
        items, is_open = elements(s, data)
        if is_open:
            return None
        inner = _data_shape(s, items[0], deep - 1) if items else ()
        return (len(items), *inner) if inner is not None else None
    return None
