"""Hooks that write to their argument, or compute a new value and return nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Func
from gradcheck_tool.domain.values import Bound, Partial, Value
from gradcheck_tool.interp.places import receiver_text
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.ir.wording import one_line
from gradcheck_tool.library.torch.function_text import FunctionBody, writes
from gradcheck_tool.trackers.events import HookMisuse
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import CallbackRan, Used

# For each way to register a hook: which argument of the hook its result replaces, and what that is called.
REPLACED = {
    "register_hook": (0, "gradient"),
    "register_forward_hook": (2, "output"),
    "register_forward_pre_hook": (1, "input"),
    "register_full_backward_hook": (1, "gradient"),
    "register_full_backward_pre_hook": (1, "gradient"),
}


class Hooks(Tracker):
    """Reads hooks when they are registered, and looks at what they have done when they ran."""

    derives = (HookMisuse,)

    def on_used(self, m: Interpreter, s: State, fact: Used) -> None:
        """A hook is registered: does it forget to return what it computes?"""
        if fact.by not in REPLACED:
            return
        index, passes = REPLACED[fact.by]
        func, skip = _function(s, fact.value)
        if func is None or len(func.function.params) <= skip + index:
            return
        name = "" if fact.owner is None else str(s[fact.owner].name)
        subject = name if s.get(fact.owner, Tensor) is not None else receiver_text(fact.site, name)
        body = func.function.worked_out(FunctionBody)
        for i, made in _forgotten_values(func, body, body.params[skip + index]):
            site, call = Site(func.env.module, i.node), _text(func, made.node)
            event = HookMisuse(site=site, kind="returns-nothing", subject=subject, call=call, passes=passes)
            self.report(event)

    def on_callback_ran(self, m: Interpreter, s: State, fact: CallbackRan) -> None:
        """Has a hook written to a gradient that others read, too?"""
        tensor = s.get(fact.owner, Tensor)
        for ref, data in fact.versions.items() if tensor is not None else ():
            storage = s[s[ref].storage]
            if storage.data != data and not storage.unsure:
                subject, how = str(tensor.name), str(storage.how)  # type: ignore[union-attr]
                self.report(HookMisuse(site=storage.site, kind="mutates-gradient", subject=subject, call=how))


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


def _forgotten_values(func: Func, body: FunctionBody, name: str) -> Iterator[tuple[ir.Instr, ir.Instr]]:
    """What is computed from the argument of a function that returns nothing, and read by nobody afterwards.

    Each with the statement that binds it to a name; where there is none, with itself.
    """
    if not body.returns() or any(end.value is not None for end in body.returns()) or func.function.captured:
        return
    for at, i in enumerate(body.instrs):
        if isinstance(i, ir.StoreName):
            made = body.made.get(i.src)
            if made is not None and _reads(body, made, name) and _is_forgotten(func, body, at, i):
                yield i, made
        elif isinstance(i, ir.BinOp) and _reads(body, i, name) and not any(body.uses(i.dst)):
            yield i, i


def _is_forgotten(func: Func, body: FunctionBody, at: int, store: ir.StoreName) -> bool:
    """Is it the one value of a variable that nothing reads later?"""
    if store.augmented or store.scope is not ir.Scope.LOCAL:
        return False
    is_only = len(body.stores[store.name]) == 1 and not func.function.loops
    return is_only and not _is_used(body, store.name, body.instrs[at + 1 :])


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
