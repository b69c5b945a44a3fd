"""What the text of a hook says for certain: it computes a new value and returns nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import HookMisuse, Site
from gradcheck_tool.domain.records import Func
from gradcheck_tool.domain.values import Bound, Partial, Value
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.wording import one_line
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.trackers.function_contracts import writes

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter


def check_tensor_hook(m: Interpreter, s: State, hook: Value, subject: str) -> None:
    """Judge a function given to `Tensor.register_hook`."""
    _check(m, s, hook, 0, subject, "gradient")


# For each way to register a hook on a module: which argument of the hook its result replaces.
REPLACED = {
    "register_forward_hook": (2, "output"),
    "register_forward_pre_hook": (1, "input"),
    "register_full_backward_hook": (1, "gradient"),
    "register_full_backward_pre_hook": (1, "gradient"),
}


def check_module_hook(m: Interpreter, s: State, hook: Value, kind: str, subject: str) -> None:
    """Judge a function given to `Module.register_forward_hook` and the like."""
    if kind in REPLACED:
        index, passes = REPLACED[kind]
        _check(m, s, hook, index, subject, passes)


def _check(m: Interpreter, s: State, hook: Value, index: int, subject: str, passes: str) -> None:
    func, skip = _function(s, hook)
    if func is not None and len(func.function.params) > skip + index:
        body = FunctionBody(func.function)
        _forgotten_return(m, func, body, body.params[skip + index], subject, passes)


def _function(s: State, hook: Value) -> tuple[Func | None, int]:
    """The function that runs as a hook, and how many of its arguments are not the hook's."""
    if isinstance(hook, Partial):
        func, skip = _function(s, hook.func)
        return func, skip + len(hook.args)
    if isinstance(hook, Bound):
        return s.get(hook.func, Func), 1
    return s.get(hook, Func), 0


def _text(func: Func, node: Any) -> str:
    return one_line(func.env.module.spans.text(node))


def _forgotten_return(
    m: Interpreter, func: Func, body: FunctionBody, name: str, subject: str, passes: str
) -> None:
    """The argument's name is bound to something computed from it that nothing reads afterwards."""
    if not body.returns() or any(end.value is not None for end in body.returns()) or func.function.captured:
        return
    for at, i in enumerate(body.instrs):
        if not isinstance(i, ir.StoreName) or i.augmented or i.scope is not ir.Scope.LOCAL:
            continue
        read = _is_used(body, i.name, body.instrs[at + 1 :])
        made = body.made.get(i.src)
        if (
            read
            or len(body.stores[i.name]) > 1
            or not isinstance(made, (ir.BinOp, ir.Call))
            or func.function.loops
        ):
            continue
        if _reads(body, made, name):
            site = Site(func.env.module, i.node)
            m.emit(
                HookMisuse(
                    site=site,
                    kind="returns-nothing",
                    subject=subject,
                    call=_text(func, made.node),
                    passes=passes,
                )
            )


def _is_used(body: FunctionBody, name: str, later: list[ir.Instr]) -> bool:
    """Is a variable read for anything but to write to its elements?"""
    loads = {i.dst for i in later if isinstance(i, ir.LoadName) and i.name == name}
    written = {reg for _, reg in writes(body)}
    written |= {i.obj for i in later if isinstance(i, ir.GetAttr) and i.name == "requires_grad_"}
    return not loads <= written


def _reads(body: FunctionBody, made: ir.Instr, name: str) -> bool:
    """Is it an operation directly on the argument?"""
    if isinstance(made, ir.BinOp):
        regs = [made.left, made.right]
    elif isinstance(made, ir.Call):
        func = body.made.get(made.func)
        regs = [func.obj] if isinstance(func, ir.GetAttr) else []
    else:
        return False
    loads = [body.made.get(reg) for reg in regs]
    return any(isinstance(load, ir.LoadName) and load.name == name for load in loads)
