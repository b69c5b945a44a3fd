"""`nn.Parameter`, `nn.init`, gradient clipping, and other functions over parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Generator, List
from gradcheck_tool.domain.values import NONE, Const, LibraryObject, Ref, Value, unknown
from gradcheck_tool.engine import optable
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.draining import drain, exhaust
from gradcheck_tool.interp.facts import Computed, Used
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.functions import call_named
from gradcheck_tool.library.torch.manual_updates import note_manual_step, note_zeroed
from gradcheck_tool.library.torch.module_tree import parameters_of
from gradcheck_tool.library.torch.modules import clear, make_layer
from gradcheck_tool.library.torch.settings import is_on_by_default
from gradcheck_tool.library.torch.tensor_methods import integer_leaf
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def gone_through(m: Interpreter, s: State, value: Value, site: Site) -> Value:
    """What a generator expression yields, which is used up then; any other value as it is."""
    if s.get(value, Generator) is None:
        return value
    before = s.fork()
    ways = [way for way in drain(m, s, value, site) if way[0].exc is None]
    if not ways:
        s.become(before)
        return value
    state, items, is_open = ways[0]
    s.become(state)
    if items and not is_open:
        m.tell(s, Used(value, "drained", site, items))
    return s.new(List(items, is_open))


@function("torch.nn.Parameter")
def parameter(m: Interpreter, s: State, call: Call) -> Result:
    """A new leaf on the memory of the data."""
    data = call.get(0, "data") or NONE
    source = as_tensor(m, s, data, call.site)
    on = call.flag(1, "requires_grad", True)
    if on is None and is_on_by_default(m, s, call.get(1, "requires_grad")):
        on = True
    dtype, shape, storage = "float", None, None
    if source is not None:
        tensor: Tensor = s[source]
        dtype, shape, storage = tensor.dtype or "float", tensor.shape, tensor.storage
        if on and tensor.dtype in ("int", "bool"):
            raise integer_leaf(call.site, tensor.name, "Parameter")
    ref = engine.new_tensor(
        s, call.site, requires_grad=on, dtype=dtype, shape=shape, storage=storage, name=call.text
    )
    s[ref].is_param = True
    s[ref].inference = False
    given = {} if source is None else {"data": source}
    m.tell(s, Computed("Parameter", {"data": data}, given, None, ref, call.site, call.text))
    return ref


@function("torch.nn.UninitializedParameter")
def uninitialized(m: Interpreter, s: State, call: Call) -> Result:
    """A parameter whose size and values come later, from `materialize`."""
    on = call.flag(0, "requires_grad", True)
    ref = engine.new_tensor(s, call.site, requires_grad=on, dtype="float", name=call.text)
    s[ref].is_param = True
    s[ref].inference = False
    return ref


@method("tensor", "materialize")
def materialize(m: Interpreter, s: State, call: Call) -> Result:
    """A parameter gets its memory; it stays the same leaf."""
    return NONE


@function("torch.nn.Embedding.from_pretrained", "torch.nn.EmbeddingBag.from_pretrained")
def from_pretrained(m: Interpreter, s: State, call: Call) -> Result:
    """A table on the memory of given vectors, which does not learn unless it is asked to."""
    vectors, frozen = call.get(0, "embeddings") or NONE, call.flag(1, "freeze", True)
    options = {name: value for name, value in call.kwargs.items() if name not in ("embeddings", "freeze")}
    kind = LibraryObject(registry.lib_name(call.func).removesuffix(".from_pretrained"))
    table: Ref = make_layer(m, s, Call(kind, [unknown("int")] * 2, options, call.site, call.text))  # type: ignore[assignment]
    learns = unknown("bool") if frozen is None else Const(not frozen)
    weight = parameter(m, s, Call(call.func, [vectors, learns], {}, call.site, "weight"))
    s.edit(table).attrs["weight"] = weight
    return table


@function("torch.autograd.Variable")
def variable(m: Interpreter, s: State, call: Call) -> Result:
    """Returns its argument; with `requires_grad=True` it makes a leaf of it."""
    data = call.get(0, "data") or NONE
    source = as_tensor(m, s, data, call.site)
    on = call.flag(1, "requires_grad", False)
    if source is None:
        return unknown()
    tensor: Tensor = s[source]
    ref = engine.new_tensor(
        s,
        call.site,
        requires_grad=on,
        dtype=tensor.dtype,
        shape=tensor.shape,
        storage=tensor.storage,
        name=tensor.name,
    )
    if on and tensor.detached_because:
        s[ref].made_leaf = call.text
    if not on and tensor.requires_grad:
        return data if isinstance(data, Ref) else ref
    return ref


_INIT = [
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "eye",
    "dirac",
]


@function(*(f"torch.nn.init.{name}" for name in _INIT))
def init(m: Interpreter, s: State, call: Call) -> Result:
    """Writes under no_grad of its own."""
    ref = as_tensor(m, s, call.get(0, "tensor") or NONE, call.site)
    if ref is None:
        return unknown()
    before, s.grad = s.grad, False
    spec = optable.find(registry.lib_name(call.func))
    guarded = spec is not None and all("tensor" in profile.guarded for _, profile in spec.variants)
    engine.check_write(s, ref, [], call.site, call.text, guarded)
    s.grad = before
    engine.bump(s, ref, call.site, str(call.text), "parameter-update")
    return ref


@function(
    "torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_", "torch.nn.utils.clip_grad_norm"
)
def clip(m: Interpreter, s: State, call: Call) -> Result:
    given = call.get(0, "parameters") or NONE
    m.tell(s, Used(given, "clip", call.site))
    given = gone_through(m, s, given, call.site)
    params, _ = parameters_of(s, given)
    norm = engine.new_tensor(s, call.site, shape=(), name="total_norm")
    name = registry.lib_name(call.func).rpartition(".")[2]
    limit = "clip_value" if "value" in name else "max_norm"
    arguments: dict[str, Value | list[Value]] = {
        "parameters": given,
        limit: call.get(1, limit) or unknown(),
    }
    m.tell(s, Computed(name, arguments, {"parameters": params}, None, norm, call.site, call.text))
    exhaust(s, given)
    if any(s[p].grad_state == "none" for p in params) is False:
        for ref in params:
            grad = s[ref].grad
            if isinstance(grad, Ref) and s.get(grad, Tensor) is not None:
                engine.bump(s, grad, call.site, str(call.text), "inplace")
    return norm


@function(
    "torch._foreach_mul_",
    "torch._foreach_add_",
    "torch._foreach_sub_",
    "torch._foreach_div_",
    "torch._foreach_zero_",
    "torch._foreach_lerp_",
    "torch._foreach_copy_",
    "torch._foreach_addcmul_",
    "torch._foreach_addcdiv_",
    "torch._foreach_neg_",
    "torch._foreach_clamp_min_",
    "torch._foreach_clamp_max_",
    "torch._foreach_sqrt_",
)
def foreach(m: Interpreter, s: State, call: Call) -> Result:
    """The same in-place operation on every tensor of a list, and the element beside it of the other lists."""
    name = registry.lib_name(call.func).removeprefix("torch._foreach_")
    lists = [elements(s, value)[0] if s.get(value, Tensor) is None else [] for value in call.args]
    for index, ref in enumerate(parameters_of(s, call.args[0] if call.args else NONE)[0]):
        rest = [
            items[index] if index < len(items) else value
            for items, value in zip(lists, call.args, strict=True)
        ]
        before = s[ref].grad_fn
        call_named(m, s, f"torch.Tensor.{name}", [ref, *rest[1:]], call.kwargs, call.site, call.text)
        if name == "zero_":
            note_zeroed(m, s, ref, call.site)
        if s[ref].grad_fn != before and s.get(s[ref].grad_fn, Node) is not None:
            _as_of_list(s, ref, name, rest[1:])
        for source in rest[1:2]:
            note_manual_step(m, s, ref, s.get(source, Tensor), call.site)
    return NONE


def _as_of_list(s: State, ref: Ref, name: str, operands: list[Value]) -> None:
    """What is recorded for a list is other than for one tensor.

    Copies have no derivative, and a number for all stays a number, where `mul_` makes a tensor of it.
    """
    node: Node = s.edit(s[ref].grad_fn)
    if name == "copy_":
        node.broken = "derivative for _foreach_copy_ is not implemented"
    elif name in ("mul_", "div_") and s.get(operands[0], Tensor) is None and s[ref].base is None:
        node.frees, node.saved_tensors = False, ()


@function("torch.nn.utils.parameters_to_vector")
def parameters_to_vector(m: Interpreter, s: State, call: Call) -> Result:
    return unknown()


@function("torch.nn.utils.vector_to_parameters")
def vector_to_parameters(m: Interpreter, s: State, call: Call) -> Result:
    """Each parameter's `.data` becomes a part of the vector."""
    given = call.get(0, "vec") or NONE
    vector = s.get(given, Tensor)
    for ref in parameters_of(s, call.get(1, "parameters") or NONE)[0]:
        engine.swap_memory(s, ref, call.site, call.text)
        if vector is not None and isinstance(given, Ref):
            engine.write_off(s, ref, "data", [given], call.site, call.text)
            s.edit(ref).inference = vector.inference
    return NONE


@function("torch.autograd.gradcheck.zero_gradients")
def zero_gradients(m: Interpreter, s: State, call: Call) -> Result:
    """What PyTorch 1.8 and before had to clear the gradients of a tensor, or of several."""
    given = call.get(0, "x") or NONE
    one = as_tensor(m, s, given, call.site)
    several = [as_tensor(m, s, item, call.site) for item in elements(s, given)[0]] if one is None else [one]
    clear(m, s, [ref for ref in several if ref is not None], False, call.site, str(call.text), to_zero=True)
    return NONE
