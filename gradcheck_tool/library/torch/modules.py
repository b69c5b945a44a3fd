"""Methods of `nn.Module`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Dict, Instance
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    LibraryObject,
    Method,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.interp import conditions, facts, registry
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.interp.registry import Native, Result, finder, method
from gradcheck_tool.library.torch import layers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
from gradcheck_tool.library.torch.module_tree import (
    children,
    doubt_unlisted,
    modules,
    name_value,
    named_parameters,
    whole_groups,
)
from gradcheck_tool.library.torch.opaque_modules import fill_unknown

HALVES = frozenset({"half", "bfloat16", "torch.half", "torch.float16", "torch.bfloat16"})
# What layers of torch call to look at their inputs, and what layers that derive from them call, too.
_CHECKS = (
    "_check_input_dim",
    "_check_non_zero_input_channels",
    "check_forward_args",
    "check_hidden_size",
    "check_input",
)


@finder
def find_layer(name: str) -> Native | None:
    """The constructor of a layer class that the model knows."""
    return make_layer if layers.is_layer(name) else None


def make_layer(m: Interpreter, s: State, call: Call) -> Result:
    """`nn.Linear(3, 4)`: an object with the parameters and buffers of the layer."""
    ref = s.new(Instance(call.func, {"training": TRUE}))
    layers.construct(m, s, ref, registry.lib_name(call.func), call)
    return ref


def _mark_buffer(s: State, ref: Ref, name: str) -> None:
    mine = s.edit(ref)
    mine.attrs["#buffers"] = Tup((*mine.attrs.get("#buffers", Tup(())).items, Const(name)))


def _parameter_list(m: Interpreter, s: State, call: Call) -> tuple[list[tuple[str, Ref]], bool]:
    fill_unknown(m, s, call.self, call.site)
    recurse = call.flag(-1 if "recurse" in call.kwargs else 1, "recurse", True)
    return named_parameters(s, call.self, recurse is not False)


@method("torch.nn.Module", "parameters")
def parameters(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = _parameter_list(m, s, call)
    return _once(s, [r for _, r in found], is_open)


def _once(s: State, items: Sequence[Value], is_open: bool) -> Ref:
    """A generator: it can be walked through once."""
    from gradcheck_tool.domain.records import Iter

    return s.new(Iter("items", (Tup(tuple(items), open=is_open),)))


@method("torch.nn.Module", "named_parameters")
def named(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = _parameter_list(m, s, call)
    return _once(s, [Tup((name_value(s, n, r), r)) for n, r in found], is_open)


@method("torch.nn.Module", "modules", "children", "named_modules", "named_children")
def list_modules(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "modules"
    found = modules(s, call.self) if name.endswith("modules") else children(s, call.self)
    is_open = any(s[r].open for _, r in found) or s[call.self].open
    return _once(s, [Tup((Const(n), r)) if name.startswith("named") else r for n, r in found], is_open)


@method("torch.nn.Module", "._modules")
def table_of_modules(m: Interpreter, s: State, call: Call) -> Result:
    items: dict[Value, Value] = {Const(name): child for name, child in children(s, call.self)}
    return s.new(Dict(items, s[call.self].open, call.self))


@method("torch.nn.Module", "._parameters")
def table_of_parameters(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = named_parameters(s, call.self, recurse=False)
    return s.new(Dict({name_value(s, name, ref): ref for name, ref in found}, is_open, call.self))


@method("torch.nn.Module", "._buffers")
def table_of_buffers(m: Interpreter, s: State, call: Call) -> Result:
    record: Instance = s[call.self]
    names = record.attrs.get("#buffers", Tup(())).items  # type: ignore[union-attr]
    items = {name: record.attrs[name.value] for name in names if name.value in record.attrs}  # type: ignore[union-attr]
    return s.new(Dict(items, record.open, call.self))


@method("torch.nn.Module", "buffers", "named_buffers")
def buffers(m: Interpreter, s: State, call: Call) -> Result:
    found: list[Value] = []
    is_open = False
    pairs = isinstance(call.func, Method) and call.func.name == "named_buffers"
    for prefix, at in modules(s, call.self):
        record: Instance = s[at]
        is_open = is_open or record.open
        for name in record.attrs.get("#buffers", Tup(())).items:  # type: ignore[union-attr]
            value = record.attrs.get(name.value)  # type: ignore[union-attr]
            if s.get(value, Tensor) is not None:
                found.append(Tup((Const(f"{prefix}.{name.value}".lstrip(".")), value)) if pairs else value)  # type: ignore[union-attr, arg-type]
    return _once(s, found, is_open)


@method("torch.nn.Module", "train", "eval")
def train_mode(m: Interpreter, s: State, call: Call) -> Result:
    mode: Value = FALSE
    if isinstance(call.func, Method) and call.func.name == "train":
        mode = call.get(0, "mode") or TRUE
    reached = [at for _, at in modules(s, call.self)]
    for at in reached:
        s.edit(at).attrs["training"] = mode
    m.tell(s, facts.ModeSwitched(reached, mode, call.site))
    return call.receiver


@method("torch.nn.Module", "requires_grad_")
def set_requires_grad(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.library.torch.tensor_attributes import set_requires_grad as set_one

    value = call.get(0, "requires_grad")
    on = True if value is None else conditions.known(s, value)
    for _, ref in named_parameters(s, call.self)[0]:
        set_one(m, s, ref, on, call.site, "requires_grad_()")
    return call.receiver


def clear(
    m: Interpreter,
    s: State,
    params: Sequence[Ref],
    is_open: bool,
    site: Any,
    target: str,
    to_zero: bool = False,
) -> None:
    """Clear the gradients of these parameters; tell whether fresh ones are discarded.

    Gradients that are set to zero are still there: a step applies them.
    """
    is_known = not is_open or (bool(params) and {p.id for p in params} <= whole_groups(s))
    fresh = is_known and any(s[p].grad_state in ("fresh", "mixed", "scaled") for p in params)
    for ref in params:
        tensor = s.edit(ref)
        tensor.grad = tensor.grad if to_zero else NONE
        tensor.grad_state = "none" if tensor.grad_state == "none" else "zeroed"
        if not to_zero:
            s.memory[Symbol(("cleared", ref))] = TRUE
    if is_open or any(s[p].is_summary for p in params):
        _clear_unknown(s, params)
    m.tell(s, facts.GradientsCleared(params, site, target, fresh))


def write_zeros(m: Interpreter, s: State, params: Sequence[Ref], call: Call) -> bool:
    """`zero_grad(set_to_none=False)` cuts the gradients off from their history and writes zeros into them.

    Is it called so?
    """
    if call.flag(0, "set_to_none", True) is not False:
        return False
    for ref in params:
        grad = s[ref].grad
        record = s.get(grad, Tensor)
        if record is None:
            continue
        # PyTorch detaches what has a graph, and no other: a view without one may be a gradient.
        for name in ("detach_", "zero_") if record.requires_grad else ("zero_",):
            m.call_method(s, grad, name, [], {}, call.site, call.text)
    return True


def _clear_unknown(s: State, params: Sequence[Ref]) -> None:
    """Parameters that are not known one by one may be any: nothing is known of the others' gradients.

    Two modules of which only the role is known are taken to have none in common.
    """
    mine = {p.id for p in params}
    whole = whole_groups(s)
    apart = whole if mine and mine <= whole else set()
    for ref, tensor in s.records(Tensor):
        if (
            ref.id not in mine | apart
            and tensor.leaf is not False
            and tensor.grad_state not in ("none", "unknown")
        ):
            s.edit(ref).grad_state = "unknown"


@method("torch.nn.Module", "zero_grad")
def zero_grad(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = named_parameters(s, call.self)
    params = [ref for _, ref in found]
    to_zero = write_zeros(m, s, params, call)
    name = receiver_text(call.site, str(s[call.self].name))
    clear(m, s, params, is_open, call.site, name, to_zero)
    doubt_unlisted(s)
    return NONE


@method(
    "torch.nn.Module",
    "to",
    "cuda",
    "cpu",
    "float",
    "double",
    "half",
    "bfloat16",
    "xpu",
    "share_memory",
    "compile",
    "to_empty",
    "type",
)
def move(m: Interpreter, s: State, call: Call) -> Result:
    """Parameters keep their identity; their memory is replaced unseen by the version counter.

    The values are other ones only where they are rounded to half precision, and were not before.
    """
    name = call.func.name if isinstance(call.func, Method) else ""
    asked = {name, *map(registry.lib_name, (*call.args, *call.kwargs.values()))}
    found = named_parameters(s, call.self)[0] if asked & HALVES else ()
    for _, ref in found:
        if Symbol(("rounded", ref)) not in s.memory:
            engine.swap_memory(s, ref, call.site, call.text)
            s.memory[Symbol(("rounded", ref))] = TRUE
    return call.receiver


@method("torch.nn.Module", "register_buffer")
def register_buffer(m: Interpreter, s: State, call: Call) -> Result:
    name, tensor = call.get(0, "name"), call.get(1, "tensor")
    if isinstance(name, Const) and isinstance(name.value, str):
        s.edit(call.self).attrs[name.value] = tensor if tensor is not None else NONE
        _mark_buffer(s, call.self, name.value)
    return NONE


@method("torch.nn.Module", "register_parameter", "add_module", "register_module")
def register(m: Interpreter, s: State, call: Call) -> Result:
    name = call.get(0, "name")
    value = call.get(1, "param") or call.get(1, "module") or NONE
    if isinstance(name, Const) and isinstance(name.value, str):
        s.edit(call.self).attrs[name.value] = value
    else:
        s.edit(call.self).open = True
    if isinstance(value, Ref):
        m.tell(s, facts.Taken((value,), "registered", call.site))
    return NONE


_HOOKS = {
    "register_forward_hook": "#hooks",
    "register_forward_pre_hook": "#pre_hooks",
    "register_backward_hook": "#old_backward_hooks",
    "register_full_backward_hook": "#backward_hooks",
    "register_full_backward_pre_hook": "#backward_hooks",
}


@method("torch.nn.Module", *_HOOKS)
def register_hook(m: Interpreter, s: State, call: Call) -> Result:
    kind = _HOOKS[call.func.name] if isinstance(call.func, Method) else "#hooks"
    mine = s.edit(call.self)
    hook = call.get(0, "hook") or unknown()
    if isinstance(call.func, Method):
        m.tell(s, facts.Used(hook, call.func.name, call.site, owner=call.self))
    mine.attrs[kind] = Tup((*mine.attrs.get(kind, Tup(())).items, hook))
    return s.new(
        Instance(
            LibraryObject("torch.utils.hooks.RemovableHandle"),
            {"#owner": call.self, "#kind": Const(kind), "#hook": hook},
        )
    )


@method("torch.utils.hooks.RemovableHandle", "remove")
def remove_hook(m: Interpreter, s: State, call: Call) -> Result:
    handle = s[call.self]
    owner, kind = handle.attrs["#owner"], handle.attrs["#kind"].value
    mine = s.edit(owner)
    left = tuple(h for h in mine.attrs.get(kind, Tup(())).items if h != handle.attrs["#hook"])
    if left:
        mine.attrs[kind] = Tup(left)
    else:
        mine.attrs.pop(kind, None)
    return NONE


@method("torch.nn.Module", "state_dict")
def state_dict(m: Interpreter, s: State, call: Call) -> Result:
    """Detached tensors that share the memory of parameters and buffers; with `keep_vars` these themselves."""
    found, _is_open = named_parameters(s, call.self)
    table = Dict(open=True)
    kept = call.flag(2, "keep_vars", False)
    if kept is not False:
        table.items.update((name_value(s, name, ref), ref) for name, ref in found if kept)
        return s.new(table)
    for name, ref in found:
        tensor: Tensor = s[ref]
        new = engine.new_tensor(
            s, call.site, dtype=tensor.dtype, shape=tensor.shape, storage=tensor.storage, name=name
        )
        entry: Tensor = s[new]
        entry.view, entry.base, entry.base_version = "detached", ref, s[tensor.storage].data
        s.memory[Symbol(("state-dict", new))] = TRUE
        table.items[name_value(s, name, ref)] = new
    return s.new(table)


@method("torch.nn.Module", "load_state_dict")
def load_state_dict(m: Interpreter, s: State, call: Call) -> Result:
    """Copies into the parameters under no_grad (their versions go up), or puts others in their place."""
    found = named_parameters(s, call.self)[0]
    table = call.get(0, "state_dict") or NONE
    m.tell(s, facts.Taken([ref for _, ref in found], "loaded", call.site, table))
    assigned = call.flag(2, "assign", False)
    if assigned is not False:
        _replace_parameters(s, call, s.get(table, Dict), bool(assigned and call.flag(1, "strict", True)))
        return unknown("data")
    for _, ref in found:
        engine.bump(s, ref, call.site, str(call.text), "parameter-update")
    return unknown("data")


def _replace_parameters(s: State, call: Call, table: Dict | None, certain: bool) -> None:
    """New parameters (where that is not `certain`: unknown ones) in the place of those that there are.

    Graphs and optimizers hold the old ones. What is made in inference mode stays an inference tensor.
    """
    entries = table.items if table is not None else {}
    for path, at in modules(s, call.self):
        for name, value in list(s[at].attrs.items()):
            old = s.get(value, Tensor)
            if old is None or not old.is_param or old.is_summary or name.startswith("#"):
                continue
            new = engine.new_tensor(
                s,
                call.site,
                requires_grad=old.requires_grad if certain else None,
                dtype=old.dtype,
                shape=old.shape,
                name=old.name,
            )
            made = s.edit(new)
            made.is_param, made.grad_state = True, "none" if certain else "unknown"
            entry = s.get(entries.get(Const(f"{path}.{name}" if path else name)), Tensor)
            made.inference = entry is not None and entry.inference
            s.edit(at).attrs[name] = new


@method("torch.nn.Module", "reset_parameters")
def reset_parameters(m: Interpreter, s: State, call: Call) -> Result:
    for _, ref in named_parameters(s, call.self, recurse=False)[0]:
        engine.bump(s, ref, call.site, str(call.text), "parameter-update")
    return NONE


@method("torch.nn.Module", "reset_running_stats")
def reset_running(m: Interpreter, s: State, call: Call) -> Result:
    record = s[call.self]
    for name in record.attrs.get("#buffers", Tup(())).items:
        if s.get(record.attrs.get(name.value), Tensor) is not None:
            engine.bump(s, record.attrs[name.value], call.site, str(call.text), "buffer")
    return NONE


@method("torch.nn.Module", *_CHECKS)
def check(m: Interpreter, s: State, call: Call) -> Result:
    """Raises for inputs of another shape, and changes nothing."""
    return NONE


@method("torch.nn.Module", "get_submodule", "get_parameter")
def get_part(m: Interpreter, s: State, call: Call) -> Result:
    name = call.get(0, "target")
    at: Value = call.self
    for part in str(registry.const(name, "?")).split("."):
        record = s.get(at, Instance)
        if record is None or part not in record.attrs:
            return unknown()
        at = record.attrs[part]
    return at


@method("torch.nn.Module", "extra_repr", "register_load_state_dict_post_hook", "register_state_dict_hook")
def ignored(m: Interpreter, s: State, call: Call) -> Result:
    return unknown("data")
