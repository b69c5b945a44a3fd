"""Names from outside: built-ins, imports, star imports."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from gradcheck_tool.autograd.heap import Instance, State
from gradcheck_tool.autograd.values import Lib, Ref, Value

if TYPE_CHECKING:
    from gradcheck_tool.interp.machine import Machine
    from gradcheck_tool.ir import nodes as ir

BUILTINS = frozenset(dir(builtins))

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


def import_value(m: Machine, s: State, i: ir.Import) -> Value:
    """What an import binds: a module of the repository if there is one, else a library object."""
    from gradcheck_tool.interp.entries import import_module

    module = import_module(m, s, i.module, i.level)
    if module is not None:
        if i.attribute is None:
            return Lib(i.module.split(".")[0]) if i.top and "." in i.module else module
        record = s.get(module, Instance)
        if record is not None and isinstance(record.attrs.get("#frame"), Ref):
            value: Value | None = s[record.attrs["#frame"]].locals.get(i.attribute)  # type: ignore[index]
            if value is not None:
                return value
    if i.attribute is not None and module is None:
        inner = import_module(m, s, f"{i.module}.{i.attribute}" if i.module else i.attribute, i.level)
        if inner is not None:
            return inner
    if i.attribute is not None:
        return Lib(canonical("." * i.level + (f"{i.module}.{i.attribute}" if i.module else i.attribute)))
    return Lib(i.module.split(".")[0] if i.top else canonical(i.module))


def star_names(m: Machine, s: State, module: str, level: int) -> dict[str, Value]:
    """What `from module import *` binds, as far as it is known."""
    from gradcheck_tool.interp.entries import import_module

    local = import_module(m, s, module, level)
    record = s.get(local, Instance)
    if record is not None and isinstance(record.attrs.get("#frame"), Ref):
        variables = s[record.attrs["#frame"]].locals  # type: ignore[index]
        return {k: v for k, v in variables.items() if isinstance(k, str) and not k.startswith("_")}
    if level == 0 and module.split(".", maxsplit=1)[0] == "torch":
        from gradcheck_tool.autograd import optable

        names = {name.rpartition(".")[2] for name in optable.names(module)} | set(_STAR.get(module, ()))
        return {name: Lib(f"{module}.{name}") for name in names}
    return {}
