"""Names from outside: built-ins, imports, star imports."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Symbol, Value

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.ir import nodes as ir

BUILTINS = frozenset(dir(builtins))

# The kind of a symbol that stands for what an import binds, until that is first read.
PROMISE = "import"

# `from torch.nn import *` and friends bind these; what else they bind is never asked for.
_STAR = {
    "torch": ("nn", "optim", "autograd", "Tensor", "no_grad", "tensor"),
    "torch.nn": ("Module", "Linear", "Parameter", "Sequential", "ModuleList", "functional", "init", "ReLU"),
}


def canonical(name: str) -> str:
    """The one name by which the model knows a library object that has several."""
    for alias, target in _ALIASES:
        if name == alias or name.startswith(alias + "."):
            name = target + name[len(alias) :]
    return name


_ALIASES = (
    ("torch.nn.modules.module", "torch.nn"),
    ("torch.nn.parameter.Parameter", "torch.nn.Parameter"),
    ("torch.autograd.variable.Variable", "torch.autograd.Variable"),
    ("torch.autograd.function.Function", "torch.autograd.Function"),
    ("torch.autograd.function.once_differentiable", "torch.autograd.function.once_differentiable"),
    ("torch.autograd.grad_mode", "torch"),
    ("torch.autograd.no_grad", "torch.no_grad"),
    ("torch.autograd.enable_grad", "torch.enable_grad"),
    ("torch.autograd.set_grad_enabled", "torch.set_grad_enabled"),
    ("torch.autograd.inference_mode", "torch.inference_mode"),
    ("torch.optim.adam", "torch.optim"),
    ("torch.optim.sgd", "torch.optim"),
    ("torch.optim.adamw", "torch.optim"),
    ("torch.utils.data.dataloader", "torch.utils.data"),
    ("torch.utils.data.dataset", "torch.utils.data"),
    ("torch.nn.modules.loss", "torch.nn"),
    ("torch.nn.modules.container", "torch.nn"),
    ("torch.nn.modules.linear", "torch.nn"),
    ("torch.nn.modules", "torch.nn"),
)


def import_value(m: Interpreter, i: ir.Import) -> Value:
    """What an import binds: a library object, or a promise where it may be of the repository.

    A module's body runs in a state of its own, so that it may as well run when a name of it is first read.
    """
    if m.imports is None:
        return _library_object(i.module, i.level, i.attribute, i.top)
    return Symbol(("import", i.module, i.level, i.attribute, i.top), PROMISE)


def kept_promise(m: Interpreter, s: State, value: Value) -> Value:
    """The value itself, or what was promised: an object of a module of the repository, or a library's."""
    if type(value) is not Symbol or value.kind != PROMISE:
        return value
    known = m.promised.get(value)
    if known is None:
        key: Any = value.key
        _, module, level, attribute, top = key
        library = m.promised[value] = _library_object(module, level, attribute, top)
        known = _from_repository(m, s, module, level, attribute, top) or library
        if isinstance(known, Ref):
            del m.promised[value]  # every state has to get the records
    return known


def _from_repository(
    m: Interpreter, s: State, module: str, level: int, attribute: str | None, top: bool
) -> Value | None:
    from gradcheck_tool.interp.imports import import_module

    found = import_module(m, s, module, level)
    if attribute is None:
        return (
            LibraryObject(module.split(".", maxsplit=1)[0])
            if found is not None and top and "." in module
            else found
        )
    if found is None:
        return import_module(m, s, f"{module}.{attribute}" if module else attribute, level)
    record = s.get(found, Instance)
    if record is None or not isinstance(record.attrs.get("#frame"), Ref):
        return None
    value: Value | None = s[record.attrs["#frame"]].locals.get(attribute)  # type: ignore[index]
    return None if value is None else kept_promise(m, s, value)


def _library_object(module: str, level: int, attribute: str | None, top: bool) -> LibraryObject:
    if attribute is not None:
        return LibraryObject(canonical("." * level + (f"{module}.{attribute}" if module else attribute)))
    return LibraryObject(module.split(".", maxsplit=1)[0] if top else canonical(module))


def star_names(m: Interpreter, s: State, module: str, level: int) -> dict[str, Value]:
    """What `from module import *` binds, as far as it is known."""
    from gradcheck_tool.interp.imports import import_module

    local = import_module(m, s, module, level)
    record = s.get(local, Instance)
    if record is not None and isinstance(record.attrs.get("#frame"), Ref):
        variables = s[record.attrs["#frame"]].locals  # type: ignore[index]
        return {k: v for k, v in variables.items() if isinstance(k, str) and not k.startswith("_")}
    if level == 0 and module.split(".", maxsplit=1)[0] == "torch":
        from gradcheck_tool.engine import optable

        names = {name.rpartition(".")[2] for name in optable.names(module)} | set(_STAR.get(module, ()))
        return {name: LibraryObject(f"{module}.{name}") for name in names}
    return {}
