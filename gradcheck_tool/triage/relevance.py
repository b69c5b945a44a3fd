"""Which functions can hold an autograd hazard at all: the others are not worth executing on their own.

Judged by the names that occur in a function, in the functions inside it and in those of the same module
that it names. Functions that something relevant calls are executed all the same, as part of it.
"""

from __future__ import annotations

from gradcheck_tool.ir import nodes as ir

HAZARDS = frozenset(
    [
        "backward",
        "grad",
        "autograd",
        "requires_grad",
        "requires_grad_",
        "require_grad",
        "zero_grad",
        "no_grad",
        "enable_grad",
        "inference_mode",
        "set_grad_enabled",
        "retain_grad",
        "register_hook",
        "register_full_backward_hook",
        "register_backward_hook",
        "checkpoint",
        "step",
        "save_for_backward",
        "apply",
        "functional_call",
        "Variable",
        "volatile",
        "scale",
        "unscale_",
        "manual_backward",
        "load_state_dict",
        "create_graph",
        "retain_graph",
        "named_parameters",
        "parameters",
        "Parameter",
        "Function",
        "data",
        "deepcopy",
        "numpy",
        "init",
    ]
)
VIEWS = frozenset(["chunk", "split", "unbind", "tensor_split", "expand", "expand_as", "view_as", "unfold"])


def relevant(module: ir.ModuleIR) -> set[int]:
    """Ids of the functions of a module that may hold a hazard."""
    mentions: dict[int, set[str]] = {}
    writes: dict[int, bool] = {}
    for function in module.functions:
        mentions[id(function)], writes[id(function)] = _names(function)
    hot = {
        id(f)
        for f in module.functions
        if mentions[id(f)] & HAZARDS
        or any(_inplace(n) for n in mentions[id(f)])
        or (writes[id(f)] and mentions[id(f)] & VIEWS)
    }
    grew = True
    while grew:
        names = {f.name for f in module.functions if id(f) in hot}
        more = {id(f) for f in module.functions if id(f) not in hot and mentions[id(f)] & names}
        hot |= more
        grew = bool(more)
    return hot


def _inplace(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _names(function: ir.Function) -> tuple[set[str], bool]:
    """Names of variables, attributes and keywords in a function and those inside; whether it writes items."""
    names: set[str] = set()
    writes = False
    for block in function.blocks.values():
        for i in block.instrs:
            if isinstance(i, (ir.LoadName, ir.GetAttr, ir.SetAttr)):
                names.add(i.name)
            elif isinstance(i, (ir.InplaceOp, ir.SetItem)):
                writes = True
            elif isinstance(i, ir.Call):
                names.update(a.name for a in i.args if a.name)
    for inner in function.inner:
        more, also = _names(inner)
        names |= more
        writes = writes or also
    return names, writes
