"""Objects of library classes: which natives their methods and attributes have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import MethodUse
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Dict, Func, Generator, Instance, Iter, List
from gradcheck_tool.domain.values import (
    Bound,
    Const,
    LibraryObject,
    Method,
    Ref,
    Slice,
    Super,
    Symbol,
    Tup,
    Value,
)
from gradcheck_tool.interp import attributes, registry
from gradcheck_tool.interp.api import Call

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter, Outcomes
    from gradcheck_tool.interp.registry import Native, Result


def kind_of(s: State, value: Value) -> str:
    """The kind of receiver that natives are registered for."""
    if isinstance(value, Const):
        return "str" if isinstance(value.value, (str, bytes)) else "number"
    if isinstance(value, Tup):
        return "tuple"
    if isinstance(value, Slice):
        return "slice"
    if not isinstance(value, Ref):
        return ""
    record = s.heap[value.id]
    kinds = {
        Tensor: "tensor",
        List: "list",
        Dict: "dict",
        Generator: "generator",
        Iter: "iterator",
        Func: "function",
    }
    return kinds.get(type(record), "")


def families(s: State, value: Value) -> list[str]:
    """The names under which natives for methods of an object (or class) are looked up."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    names: list[str] = []
    if isinstance(record, Instance):
        names = attributes.lib_bases(s, record.cls)
    elif isinstance(record, Class):
        names = [f"class {name}" for name in attributes.lib_bases(s, value)]
    out = []
    for name in names:
        out.append(name)
        out += _FAMILY.get(name, ())
        if name.startswith("torch.nn.") and name not in _NOT_MODULES:
            out.append("torch.nn.Module")
        if name.startswith("torch.optim.lr_scheduler."):
            out.append("scheduler")
        elif name.startswith("torch.optim."):
            out.append("torch.optim.Optimizer")
    return list(dict.fromkeys(out))


_NOT_MODULES = frozenset({"torch.nn.Parameter"})
LIGHTNING = frozenset(
    {"lightning.LightningModule", "lightning.pytorch.LightningModule", "pytorch_lightning.LightningModule"}
)
_FAMILY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(LIGHTNING, ("torch.nn.Module",)),
    "torch.inference_mode": ("torch.no_grad",),
    "torch.enable_grad": ("torch.no_grad",),
    "torch.set_grad_enabled": ("torch.no_grad",),
}


def method_native(m: Interpreter, s: State, receiver: Value, name: str) -> Native | None:
    """The native for `receiver.name`, if the model knows it."""
    if isinstance(receiver, Super):
        return _super_native(s, receiver, name)
    kind = kind_of(s, receiver)
    if kind == "tensor":
        from gradcheck_tool.library.torch.tensor_values import tensor_native

        return tensor_native(name)
    if kind:
        return registry.METHODS.get((kind, name))
    for family in families(s, receiver):
        native = registry.METHODS.get((family, name))
        if native is not None:
            return native
    return None


def _super_native(s: State, receiver: Super, name: str) -> Native | None:
    """`super().name` where the method is a library class's."""
    itself = receiver.receiver

    def on_receiver(m: Interpreter, st: State, call: Call) -> Result:
        call.receiver = itself
        for family in families(st, itself):
            native = registry.METHODS.get((family, name))
            if native is not None:
                return native(m, st, call)
        inner = st.get(itself, Instance)
        if name == "forward" and isinstance(itself, Ref) and inner is not None:
            from gradcheck_tool.library.torch import module_calls, module_tree

            if module_tree.is_module(st, inner):
                return module_calls.library_forward(m, st, itself, call)
        if name in ("__init__", "__init_subclass__", "__setattr__", "__enter__", "__exit__", "__setstate__"):
            return Const(None)
        return m.call_unknown(st, call)

    return on_receiver


def call_instance(m: Interpreter, s: State, ref: Ref, record: Instance, call: Call) -> Result:
    """`obj(...)`."""
    from gradcheck_tool.library.torch import module_calls, module_tree

    if module_tree.is_module(s, record):
        return module_calls.call_module(m, s, ref, call)
    own = attributes.in_class(s, record.cls, "__call__")
    if own is not None:
        return m.call(s, Bound(ref, own), call.args, call.kwargs, call.site, call.text, call.unsure)
    for family in families(s, ref):
        native = registry.METHODS.get((family, "__call__"))
        if native is not None:
            call.receiver = ref
            return native(m, s, call)
    call.receiver = ref
    return m.call_unknown(s, call)


def attribute(m: Interpreter, s: State, obj: Ref, record: Instance, name: str, site: Any) -> Outcomes | None:
    """Attributes of library objects that are not methods."""
    for family in families(s, obj):
        native = registry.METHODS.get((family, f".{name}"))
        if native is not None:
            found = native
            call = Call(Method(obj, name), [], {}, site, "", obj)
            return m.guard(s, lambda: found(m, s, call))
    lightning = not LIGHTNING.isdisjoint(attributes.lib_bases(s, record.cls))
    if (isinstance(record.cls, LibraryObject) or lightning) and method_native(m, s, obj, name) is not None:
        return [(s, Method(obj, name))]
    if isinstance(record.cls, LibraryObject):
        if record.open:
            return None
        key = Symbol(
            ("attr", obj, name), "data" if name.startswith(("in_", "out_", "num_", "hidden_")) else None
        )
        return [(s, s.memory.get(key, Method(obj, name)))]
    return None


def assigned(m: Interpreter, s: State, obj: Ref, name: str, value: Value, site: Any) -> None:
    """An attribute of an object was set: modules notice parameters and sub-modules."""
    if isinstance(value, Tup) or (
        isinstance(value, Ref) and isinstance(s.heap[value.id], (Tensor, List, Dict))
    ):
        m.stores[obj.id, name] = site
    record = s.get(value, Instance)
    if record is not None and not record.name:
        owner: Instance = s[obj]
        s.edit(value).name = f"{owner.name or 'self'}.{name}"  # type: ignore[arg-type]


def created(m: Interpreter, s: State, ref: Ref, site: Any) -> None:
    """An object of a repository class was made, before `__init__`."""
    from gradcheck_tool.library.torch import module_tree

    if module_tree.is_module(s, s[ref]):
        s.edit(ref).attrs.setdefault("training", Const(True))


def item(s: State, obj: Ref, record: Instance, index: Value) -> Value | None:
    """`obj[index]` for library objects that are not module containers."""
    if record.cls == LibraryObject("types.SimpleNamespace") and isinstance(index, Const):
        return record.attrs.get(str(index.value))
    return None


def note_method(m: Interpreter, s: State, receiver: str, subject: Any, call: Call, name: str) -> None:
    """Tell the rules that a method of a library object was called."""
    m.emit(
        MethodUse(
            site=call.site,
            receiver=receiver,
            subject=str(subject),
            name=name,
            called=True,
            keywords=tuple(call.kwargs),
        )
    )
