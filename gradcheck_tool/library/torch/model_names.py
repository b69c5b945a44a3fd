"""The names under which the methods of library objects are registered: their classes, and what those are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.values import Ref, Value
from gradcheck_tool.interp import attributes, registry

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.registry import Native

_NOT_MODULES = frozenset({"torch.nn.Parameter"})
_ALSO: dict[str, tuple[str, ...]] = {
    "torch.inference_mode": ("torch.no_grad",),
    "torch.enable_grad": ("torch.no_grad",),
    "torch.set_grad_enabled": ("torch.no_grad",),
}


def model_names(s: State, value: Value) -> list[str]:
    """The names under which the methods of an object (or class) are registered, most derived first."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    names: list[str] = []
    if isinstance(record, Instance):
        names = attributes.lib_bases(s, record.cls)
    elif isinstance(record, Class):
        names = [f"class {name}" for name in attributes.lib_bases(s, value)]
    out = []
    for name in names:
        out.append(name)
        out += _ALSO.get(name, ())
        if name.startswith("torch.nn.") and name not in _NOT_MODULES:
            out.append("torch.nn.Module")
        if name.startswith("torch.optim.lr_scheduler."):
            out.append("scheduler")
        elif name.startswith("torch.optim.") and not name.startswith("torch.optim.swa_utils."):
            out.append("torch.optim.Optimizer")
    return list(dict.fromkeys(out))


def find_method(s: State, value: Value, name: str) -> Native | None:
    """The native for a method of an object or class of a library, if the model knows it."""
    for each in model_names(s, value):
        native = registry.METHODS.get((each, name))
        if native is not None:
            return native
    is_object = s.get(value, Instance) is not None
    return registry.METHODS.get(("builtins.object", name)) if is_object else None
