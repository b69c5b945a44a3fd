"""`nn.Module`: parameters, sub-modules, calls with hooks, containers, layers of the tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import GradientsCleared
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Class, Dict, Instance, List
from gradcheck_tool.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Bound,
    Const,
    LibraryObject,
    Method,
    Ref,
    Symbol,
    Tup,
    Value,
    unknown,
)
from gradcheck_tool.engine import operations as engine
from gradcheck_tool.interp import attributes, conditions, registry
from gradcheck_tool.interp.api import Call
from gradcheck_tool.interp.iteration import drain, elements
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.interp.registry import Native, Result, function, method
from gradcheck_tool.library.torch import hooks, layers
from gradcheck_tool.library.torch.instances import LIGHTNING
from gradcheck_tool.trackers import distributed, modes, uses
from gradcheck_tool.trackers import gradient_reach as breaks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes

HALVES = frozenset({"half", "bfloat16", "torch.half", "torch.float16", "torch.bfloat16"})
SEQUENTIAL = ("torch.nn.Sequential",)
LISTS = ("torch.nn.ModuleList", "torch.nn.ParameterList")
DICTS = ("torch.nn.ModuleDict", "torch.nn.ParameterDict")
WRAPPERS = frozenset(
    {
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "apex.parallel.DistributedDataParallel",
        "deepspeed.DeepSpeedEngine",
    }
)
TRAINERS = ("transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer")
# Marks an object that an entry point's methods are run on: it may be of a subclass, which holds more.
STAND_IN = "#stand-in"
_PLAIN = frozenset(
    {"torch.nn.Parameter", "torch.nn.Module", "torch.nn.Buffer", "torch.nn.UninitializedParameter"}
)


def is_module(s: State, record: Instance) -> bool:
    """Is the object an `nn.Module`?"""
    return any(
        (name.startswith("torch.nn.") and name != "torch.nn.Parameter") or name in MODULE_BASES
        for name in attributes.lib_bases(s, record.cls)
    )


MODULE_BASES = frozenset(
    [
        *LIGHTNING,
        *TRAINERS,
        *WRAPPERS,
        "transformers.PreTrainedModel",
    ]
)


# -- making layers ----------------------------------------------------------------------------------


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


def container(s: State, cls: Value, items: Sequence[Value], site: Any) -> Ref:
    """A Sequential, ModuleList or ParameterList of the items."""
    attrs: dict[str, Value] = {"training": TRUE}
    attrs.update({str(i): item for i, item in enumerate(items)})
    return s.new(Instance(cls, attrs))


@function("torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ParameterList")
def make_list(m: Interpreter, s: State, call: Call) -> Result:
    return _fill_list(m, s, None, registry.lib_name(call.func), call)


def _fill_list(m: Interpreter, s: State, ref: Ref | None, name: str, call: Call) -> Result:
    out: Outcomes = []
    sources = [(s, list(call.args), call.unsure)]
    if name not in SEQUENTIAL and call.args:
        sources = drain(m, s, call.args[0], call.site)
    for state, items, is_open in sources:
        if state.exc is not None:
            out.append((state, NONE))
            continue
        for item in items:
            m.suspicions.clear((item.id,) if isinstance(item, Ref) else ())
        names = {str(i): item for i, item in enumerate(items)}
        first = items[0] if items else NONE
        table = state.get(first, Dict)
        if name in SEQUENTIAL and table is not None:
            names = {str(registry.const(k, i)): v for i, (k, v) in enumerate(table.items.items())}
            is_open = table.open
        target = ref if ref is not None else state.new(Instance(LibraryObject(name)))
        mine = state.edit(target)
        mine.attrs.update({"training": TRUE, **names})
        mine.open = mine.open or is_open
        out.append((state, target if ref is None else NONE))
    return out


@function("torch.nn.ModuleDict", "torch.nn.ParameterDict")
def make_dict(m: Interpreter, s: State, call: Call) -> Result:
    ref = s.new(Instance(call.func, {"training": TRUE}))
    _fill_dict(s, ref, call)
    return ref


def _fill_dict(s: State, ref: Ref, call: Call) -> None:
    """Add what a dict, or a list of pairs, holds to a ModuleDict or ParameterDict."""
    mine = s.edit(ref)
    mine.open = mine.open or call.unsure
    table = s.get(call.args[0], Dict) if call.args else None
    if table is not None:
        mine.attrs.update({str(registry.const(k, "?")): v for k, v in table.items.items()})
        mine.open = mine.open or table.open
    elif call.args:
        items, is_open = elements(s, call.args[0])
        mine.open = mine.open or is_open
        for item in items:
            if isinstance(item, Tup) and len(item.items) == 2:
                mine.attrs[str(registry.const(item.items[0], "?"))] = item.items[1]


@method("torch.nn.Module", "__init__")
def init_module(m: Interpreter, s: State, call: Call) -> Result:
    """`super().__init__()`; for sub-classes of layers it makes their parameters."""
    names = attributes.lib_bases(s, s[call.self].cls)
    s.edit(call.self).attrs.setdefault("training", TRUE)
    for name in names:
        if name in SEQUENTIAL or name in LISTS:
            return _fill_list(m, s, call.self, name, call)
        if layers.is_layer(name):
            layers.construct(m, s, call.self, name, call)
            return NONE
    return NONE


# -- what a module holds ------------------------------------------------------------------------------


def children(s: State, ref: Ref) -> list[tuple[str, Ref]]:
    """Direct sub-modules by name."""
    record: Instance = s[ref]
    out = []
    for name, value in record.attrs.items():
        child = s.get(value, Instance)
        if child is not None and not name.startswith("#") and is_module(s, child):
            out.append((name, value))
    return out  # type: ignore[return-value]


def modules(s: State, ref: Ref) -> list[tuple[str, Ref]]:
    """The module and all below it, by dotted name."""
    seen: dict[int, None] = {}
    out: list[tuple[str, Ref]] = []
    stack: list[tuple[str, Ref]] = [("", ref)]
    while stack:
        name, at = stack.pop()
        if at.id in seen:
            continue
        seen[at.id] = None
        out.append((name, at))
        stack += [(f"{name}.{n}" if name else n, c) for n, c in reversed(children(s, at))]
    return out


def named_parameters(s: State, ref: Ref, recurse: bool = True) -> tuple[list[tuple[str, Ref]], bool]:
    """Parameters by dotted name, and whether there may be more."""
    out: dict[int, tuple[str, Ref]] = {}
    is_open = unseen = False
    for name, at in modules(s, ref) if recurse else [("", ref)]:
        record: Instance = s[at]
        group = record.attrs.get("#group")
        if isinstance(group, Ref):
            out.setdefault(group.id, (f"{name}.*", group))
        is_open = is_open or record.open
        unseen = unseen or STAND_IN in record.attrs
        for attr, value in record.attrs.items():
            tensor = s.get(value, Tensor)
            if tensor is not None and tensor.is_param and not attr.startswith("#"):
                full = f"{name}.{attr}" if name else attr
                out.setdefault(value.id, (full, value))  # type: ignore[union-attr, arg-type]
            # Where no parameter is known, one of unknown origin may be all there is.
            unseen = unseen or (not attr.startswith("#") and _is_unseen(s, value))
    return list(out.values()), is_open or (unseen and not out)


def _is_unseen(s: State, value: Value) -> bool:
    """Is it of unknown origin, or of a class with an unknown base? Then it may be a module."""
    record = s.get(value, Instance)
    cls = s.get(record.cls, Class) if record is not None else None
    return isinstance(value, Symbol) or (cls is not None and cls.open)


def parameters_of(s: State, value: Value) -> tuple[list[Ref], bool]:
    """The parameters in a module, a list of tensors or groups, or one tensor."""
    if s.get(value, Tensor) is not None:
        return [value], False  # type: ignore[list-item]
    record = s.get(value, Instance)
    if record is not None and is_module(s, record):
        found, is_open = named_parameters(s, value)  # type: ignore[arg-type]
        return [r for _, r in found], is_open
    items, is_open = elements(s, value)
    out: list[Ref] = []
    for item in items:
        table = s.get(item, Dict)
        if table is not None:
            more, rest = parameters_of(s, table.items.get(Const("params"), NONE))
        elif isinstance(item, Tup) and len(item.items) == 2 and isinstance(item.items[0], Const):
            more, rest = parameters_of(s, item.items[1])
        elif s.get(item, Tensor) is not None:
            more, rest = [item], False  # type: ignore[list-item]
        else:
            more, rest = [], not isinstance(item, Const)
        out += more
        is_open = is_open or rest
    return out, is_open


def container_items(s: State, ref: Ref) -> list[Value] | None:
    """The elements of a Sequential, ModuleList or ParameterList; the keys of a ModuleDict."""
    record: Instance = s[ref]
    names = attributes.lib_bases(s, record.cls)
    if any(n in SEQUENTIAL or n in LISTS for n in names):
        return [v for k, v in record.attrs.items() if not k.startswith("#") and _is_element(s, k, v)]
    if is_mapping(s, record):
        return [Const(k) for k, v in record.attrs.items() if not k.startswith("#") and k != "training"]
    return None


def _is_element(s: State, key: str, value: Value) -> bool:
    if key == "training":
        return False
    inner = s.get(value, Instance)
    return key.isdigit() or (inner is not None and is_module(s, inner)) or s.get(value, Tensor) is not None


def is_mapping(s: State, record: Instance) -> bool:
    """Is the object a ModuleDict or a ParameterDict?"""
    return any(n in DICTS for n in attributes.lib_bases(s, record.cls))


def mapped(record: Instance, key: Value) -> Value | None:
    """What a ModuleDict or ParameterDict holds under a key, if that is known."""
    return record.attrs.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None


def set_container_item(s: State, ref: Ref, index: Value, value: Value) -> None:
    """`container[index] = value`."""
    record: Instance = s[ref]
    names = attributes.lib_bases(s, record.cls)
    if any(n in DICTS for n in names) and isinstance(index, Const):
        s.edit(ref).attrs[str(index.value)] = value
    elif any(n in SEQUENTIAL or n in LISTS for n in names) and isinstance(index, Const):
        count = len(container_items(s, ref) or ())
        at = index.value if index.value >= 0 else count + index.value
        s.edit(ref).attrs[str(at)] = value
    elif any(n in LISTS or n in DICTS for n in names):
        s.edit(ref).open = True


# -- calls --------------------------------------------------------------------------------------------


def call_module(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`module(...)`: pre-hooks, forward, hooks."""
    uses.note_forward(m, s, ref)
    modes.ran(m, s, ref, call.site)
    out: Outcomes = []
    pairs = [(s, list(call.args))]
    for hook in _hooks(s, ref, "#pre_hooks"):
        after = []
        for state, args in pairs:
            for st, answer in m.call(state, hook, [ref, Tup(tuple(args))], {}, call.site):
                if st.exc is None and answer != NONE and not isinstance(answer, Symbol):
                    args = list(answer.items) if isinstance(answer, Tup) else [answer]
                after.append((st, args))
        pairs = after
    for state, args in pairs:
        if state.exc is not None:
            out.append((state, NONE))
            continue
        inner = Call(call.func, args, call.kwargs, call.site, call.text, ref, call.unsure)
        out += m.guard(state, lambda st=state, c=inner: forward(m, st, ref, c))
    for hook in _hooks(s, ref, "#hooks"):
        after_hooks: Outcomes = []
        for state, value in out:
            if state.exc is not None:
                after_hooks.append((state, value))
                continue
            for st, answer in m.call(state, hook, [ref, Tup(tuple(call.args)), value], {}, call.site):
                keep = answer == NONE or isinstance(answer, Symbol)
                after_hooks.append((st, value if keep else answer))
        out = after_hooks
    if "#backward_hooks" in s[ref].attrs:
        out = [(state, _guard_output(state, value, call)) for state, value in out]
    for state, value in out:
        distributed.note_inner(m, state, ref, call, value)
    return out


def _guard_output(s: State, value: Value, call: Call) -> Value:
    """A full backward hook makes the outputs views of a custom Function, which forbid in-place edits."""
    if isinstance(value, Tup):
        return replace(value, items=tuple(_guard_output(s, item, call) for item in value.items))
    tensor = s.get(value, Tensor)
    if tensor is None or not tensor.requires_grad or not isinstance(value, Ref):
        return value
    node = Node(engine.HOOKED, call.text, call.site)
    node.inputs, node.needs = (engine.edge(s, value),), ((),)
    made = engine.function_output(s, value, [value], call.site, call.text)
    mine = s.edit(made)
    mine.grad_fn, mine.requires_grad, mine.leaf = s.new(node), True, False
    return made


def _hooks(s: State, ref: Ref, kind: str) -> list[Value]:
    value = s[ref].attrs.get(kind, Tup(()))
    return list(value.items)


def forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`forward` of a module of the repository, a layer, a container or a wrapper."""
    record: Instance = s[ref]
    own = record.attrs.get("forward") or attributes.in_class(s, record.cls, "forward")
    if own is not None:
        target = Bound(ref, own) if "forward" not in record.attrs else own
        return m.call(s, target, call.args, call.kwargs, call.site, call.text, call.unsure)
    return library_forward(m, s, ref, call)


def library_forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """`forward` of the library class that a module is of, or is derived from."""
    names = attributes.lib_bases(s, s[ref].cls)
    if any(n in SEQUENTIAL for n in names):
        return _forward_sequential(m, s, ref, call)
    inner = s[ref].attrs.get("module")
    if any(n in WRAPPERS for n in names) and isinstance(inner, Ref):
        results = m.call(s, inner, call.args, call.kwargs, call.site, call.text, call.unsure)
        for state, value in results:
            distributed.note_wrapped(m, state, ref, value)
        return results
    for name in names:
        native = registry.METHODS.get((name, "forward"))
        if native is not None:
            return native(m, s, call)
        if layers.is_layer(name):
            return layers.run(m, s, ref, name, call)
    return unknown_forward(m, s, ref, call)


def unknown_forward(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    """A module of which only the parameters may be known: the result depends on them in an unknown way."""
    return unknown()


def _forward_sequential(m: Interpreter, s: State, ref: Ref, call: Call) -> Result:
    if s[ref].open:
        return unknown()
    pairs: Outcomes = [(s, call.args[0] if call.args else unknown())]
    for item in container_items(s, ref) or []:
        after: Outcomes = []
        for state, value in pairs:
            if state.exc is not None:
                after.append((state, value))
            else:
                after += m.call(state, item, [value], {}, call.site, call.text)
        pairs = after
    return pairs


# -- methods ------------------------------------------------------------------------------------------


def _parameter_list(s: State, ref: Ref, call: Call) -> tuple[list[tuple[str, Ref]], bool]:
    recurse = call.flag(-1 if "recurse" in call.kwargs else 1, "recurse", True)
    return named_parameters(s, ref, recurse is not False)


@method("torch.nn.Module", "parameters")
def parameters(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = _parameter_list(s, call.self, call)
    return _once(s, [r for _, r in found], is_open)


def _once(s: State, items: Sequence[Value], is_open: bool) -> Ref:
    """A generator: it can be walked through once."""
    from gradcheck_tool.domain.records import Iter

    return s.new(Iter("items", (Tup(tuple(items), open=is_open),)))


@method("torch.nn.Module", "named_parameters")
def named(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = _parameter_list(s, call.self, call)
    return _once(s, [Tup((Const(n), r)) for n, r in found], is_open)


@method("torch.nn.Module", "modules", "children", "named_modules", "named_children")
def list_modules(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "modules"
    found = modules(s, call.self) if name.endswith("modules") else children(s, call.self)
    is_open = any(s[r].open for _, r in found) or s[call.self].open
    return _once(s, [Tup((Const(n), r)) if name.startswith("named") else r for n, r in found], is_open)


@method("torch.nn.Module", "._modules")
def table_of_modules(m: Interpreter, s: State, call: Call) -> Result:
    items: dict[Value, Value] = {Const(name): child for name, child in children(s, call.self)}
    return s.new(Dict(items, s[call.self].open))


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
    modes.switched(m, s, reached, mode, call.site)
    return call.receiver


@method("torch.nn.Module", "requires_grad_")
def set_requires_grad(m: Interpreter, s: State, call: Call) -> Result:
    from gradcheck_tool.library.torch.tensors import set_requires_grad as set_one

    value = call.get(0, "requires_grad")
    on = True if value is None else conditions.known(s, value)
    for _, ref in named_parameters(s, call.self)[0]:
        set_one(m, s, ref, on, call.site, "requires_grad_()")
    return call.receiver


def clear(m: Interpreter, s: State, params: Sequence[Ref], is_open: bool, site: Any, target: str) -> None:
    """Clear the gradients of these parameters; tell the rules whether fresh ones were thrown away."""
    fresh = any(s[p].grad_state in ("fresh", "mixed", "scaled") for p in params) and not is_open
    for ref in params:
        tensor = s.edit(ref)
        tensor.grad, tensor.grad_state = NONE, "none" if tensor.grad_state == "none" else "zeroed"
    if is_open or any(s[p].is_summary for p in params):
        _clear_unknown(s, params)
    if m.places.loop_of(site) is not None:
        m.windows.cleared(params, site, target, fresh)
    m.emit(GradientsCleared(site=site, target=target, fresh=fresh))


def write_zeros(m: Interpreter, s: State, params: Sequence[Ref], call: Call) -> None:
    """`zero_grad(set_to_none=False)` cuts the gradients off from their history and writes zeros into them."""
    if call.flag(0, "set_to_none", True) is not False:
        return
    for ref in params:
        grad = s[ref].grad
        if s.get(grad, Tensor) is not None:
            for name in ("detach_", "zero_"):
                m.call_method(s, grad, name, [], {}, call.site, call.text)


def _clear_unknown(s: State, params: Sequence[Ref]) -> None:
    """Parameters that are not known one by one may be any: nothing is known of the others' gradients."""
    mine = {p.id for p in params}
    for ref, tensor in s.records(Tensor):
        if ref.id not in mine and tensor.leaf is not False and tensor.grad_state not in ("none", "unknown"):
            s.edit(ref).grad_state = "unknown"


@method("torch.nn.Module", "zero_grad")
def zero_grad(m: Interpreter, s: State, call: Call) -> Result:
    found, is_open = named_parameters(s, call.self)
    write_zeros(m, s, [r for _, r in found], call)
    clear(m, s, [r for _, r in found], is_open, call.site, receiver_text(call.site, str(s[call.self].name)))
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


@method("torch.nn.Module", "apply")
def apply_to_all(m: Interpreter, s: State, call: Call) -> Result:
    pairs: list[State] = [s]
    for _, at in reversed(modules(s, call.self)):
        after: list[State] = []
        for state in pairs:
            after += (
                [st for st, _ in m.call(state, call.args[0], [at], {}, call.site)] if call.args else [state]
            )
        pairs = after[:4]
    return [(state, call.receiver) for state in pairs]


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
        m.suspicions.clear((value.id,))
    return NONE


_HOOKS = {
    "register_forward_hook": "#hooks",
    "register_forward_pre_hook": "#pre_hooks",
    "register_full_backward_hook": "#backward_hooks",
    "register_full_backward_pre_hook": "#backward_hooks",
}


@method("torch.nn.Module", *_HOOKS)
def register_hook(m: Interpreter, s: State, call: Call) -> Result:
    kind = _HOOKS[call.func.name] if isinstance(call.func, Method) else "#hooks"
    mine = s.edit(call.self)
    hook = call.get(0, "hook") or unknown()
    if isinstance(call.func, Method):
        hooks.check_module_hook(m, s, hook, call.func.name, receiver_text(call.site, str(s[call.self].name)))
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
    """Detached tensors that share the memory of parameters and buffers."""
    found, _is_open = named_parameters(s, call.self)
    table = Dict(open=True)
    for name, ref in found:
        tensor: Tensor = s[ref]
        new = engine.new_tensor(
            s, call.site, dtype=tensor.dtype, shape=tensor.shape, storage=tensor.storage, name=name
        )
        s[new].view, s[new].base = "detached", ref
        s.memory[Symbol(("state-dict", new))] = TRUE
        table.items[Const(name)] = new
    return s.new(table)


@method("torch.nn.Module", "load_state_dict")
def load_state_dict(m: Interpreter, s: State, call: Call) -> Result:
    """Copies into the parameters under no_grad (their versions go up), or puts others in their place."""
    found = named_parameters(s, call.self)[0]
    m.suspicions.clear(ref.id for _, ref in found)
    breaks.note_loaded(m, s, [ref for _, ref in found], call.get(0, "state_dict") or NONE)
    assigned = call.flag(2, "assign", False)
    if assigned is not False:
        _replace_parameters(s, call, bool(assigned and call.flag(1, "strict", True)))
        return unknown("data")
    for _, ref in found:
        engine.bump(s, ref, call.site, str(call.text), "parameter-update")
    return unknown("data")


def _replace_parameters(s: State, call: Call, certain: bool) -> None:
    """New parameters (where that is not `certain`: unknown ones) in the place of those that there are.

    Graphs and optimizers hold the old ones.
    """
    for _, at in modules(s, call.self):
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
            made.is_param, made.inference, made.grad_state = True, False, "none" if certain else "unknown"
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


@method("torch.nn.ModuleList", "append", "extend", "insert")
@method("torch.nn.Sequential", "append", "extend", "insert")
@method("torch.nn.ParameterList", "append", "extend")
def append(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "append"
    mine = s.edit(call.self)
    count = len(container_items(s, call.self) or ())
    if name == "insert":
        mine.open = True
        return call.receiver
    items, is_open = elements(s, call.args[0]) if name == "extend" else (call.args[:1], False)
    for offset, item in enumerate(items):
        mine.attrs[str(count + offset)] = item
    mine.open = mine.open or is_open
    return call.receiver


@method("torch.nn.ModuleDict", "items", "keys", "values")
@method("torch.nn.ParameterDict", "items", "keys", "values")
def module_dict(m: Interpreter, s: State, call: Call) -> Result:
    name = call.func.name if isinstance(call.func, Method) else "items"
    record = s[call.self]
    pairs = [(k, v) for k, v in record.attrs.items() if not k.startswith("#") and k != "training"]
    pick: Callable[[str, Value], Value] = {
        "items": lambda k, v: Tup((Const(k), v)),
        "keys": lambda k, v: Const(k),
        "values": lambda k, v: v,
    }[name]
    return s.new(List([pick(k, v) for k, v in pairs], record.open))


@method("torch.nn.ModuleDict", "pop")
@method("torch.nn.ParameterDict", "pop", "get")
def module_dict_item(m: Interpreter, s: State, call: Call) -> Result:
    key = call.get(0, "key") or unknown()
    found = mapped(s[call.self], key)
    if isinstance(call.func, Method) and call.func.name == "pop":
        if found is None or not isinstance(key, Const):
            s.edit(call.self).open = True
        else:
            del s.edit(call.self).attrs[key.value]
    return found if found is not None else unknown()


@method("torch.nn.ModuleDict", "update")
@method("torch.nn.ParameterDict", "update")
def module_dict_update(m: Interpreter, s: State, call: Call) -> Result:
    _fill_dict(s, call.self, call)
    return NONE


@function(*(WRAPPERS - {"deepspeed.DeepSpeedEngine"}))
def wrap(m: Interpreter, s: State, call: Call) -> Result:
    """DataParallel, DDP, FSDP: a module that calls the one it holds."""
    inner = call.get(0, "module") or unknown()
    return s.new(
        Instance(call.func, {"module": inner, "training": TRUE}, open=s.get(inner, Instance) is None)
    )
