"""What the text of a module's class says: Parameters that nothing reads, hooks that each call registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.records import Class, Func
from gradcheck_tool.domain.values import LibraryObject
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.trackers.events import HookRegisteredAgain, ParameterUnread
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import ObjectMade

# Methods that give parameters their first values, or print them.
_INITIAL = re.compile(r"__init__|.*(?:init|reset|extra_repr|fill|register).*")
# What is there for optimizers and tests only.
_STANDS_IN = re.compile(r"(?i).*(?:dummy|unused|placeholder|mock|fake|stub).*")
# What may read parameters without naming them.
_ALL = frozenset({"__dict__", "_parameters", "parameters", "named_parameters", "state_dict"})
_HOOKS = re.compile(r"register_(?:forward|forward_pre|full_backward|full_backward_pre|backward)_hook")


class ModuleText(Tracker):
    """Reads the classes of modules when they are defined."""

    derives = (HookRegisteredAgain, ParameterUnread)

    def on_object_made(self, m: Interpreter, s: State, fact: ObjectMade) -> None:
        """Read a class that derives from `nn.Module`."""
        record = s.get(fact.object, Class)
        if record is None or LibraryObject("torch.nn.Module") not in record.mro:
            return
        found = {name: s.get(value, Func) for name, value in record.attrs.items()}
        methods = {name: FunctionBody(func.function) for name, func in found.items() if func is not None}
        if "forward" not in methods:
            return
        for node, hook in _hooks_in_forward(methods["forward"], record.env.module.source):
            site = Site(record.env.module, node)
            self.report(HookRegisteredAgain(site=site, method=f"{record.name}.forward", call=hook))
        if record.mro[1:] == (LibraryObject("torch.nn.Module"),) and "__init__" in methods:
            unread = [] if _STANDS_IN.fullmatch(record.name) else _unread(methods, record.env.module.source)
            for name, node in unread:
                site = Site(record.env.module, node)
                self.report(ParameterUnread(site=site, module=record.name, attribute=name))


def _attributes(body: FunctionBody) -> list[str]:
    """The names of all attributes that a function reads or writes."""
    return [i.name for i in body.function.instructions() if isinstance(i, (ir.GetAttr, ir.SetAttr))]


def _unread(methods: Mapping[str, FunctionBody], source: str) -> Iterator[tuple[str, Any]]:
    """Parameters that the constructor makes and nothing in the file but their initialisation mentions."""
    later = [body for name, body in methods.items() if not _INITIAL.fullmatch(name)]
    initial = [body for name, body in methods.items() if _INITIAL.fullmatch(name)]
    read = {name for body in later for name in _attributes(body)}
    if read & _ALL or not _computes(methods["forward"]):
        return
    for name, node in _made(methods["__init__"]):
        own = sum(_attributes(body).count(name) for body in initial)
        spelt = len(re.findall(rf"\.{re.escape(name)}\b", source))
        quoted = re.search(rf"[\"'](?:[\w.]*\.)?{re.escape(name)}[\"']", source)
        if name not in read and spelt == own and quoted is None and not _STANDS_IN.fullmatch(name):
            yield name, node


def _made(body: FunctionBody) -> Iterator[tuple[str, Any]]:
    """The attributes of `self` that a constructor gives a Parameter that is to be trained."""
    for i in body.instrs:
        if not isinstance(i, ir.SetAttr) or body.source(i.obj) != body.params[0]:
            continue
        made = body.maker(i.src)
        func = body.maker(made.func) if isinstance(made, ir.Call) else None
        named = func.name if isinstance(func, (ir.GetAttr, ir.LoadName)) else ""
        frozen = isinstance(made, ir.Call) and any(arg.name == "requires_grad" for arg in made.args)
        if named == "Parameter" and not frozen and body.params:
            yield i.name, i.node


def _computes(forward: FunctionBody) -> bool:
    """Does it return something that it has computed? An interface does not."""
    return any(end.value is not None and forward.maker(end.value) is not None for end in forward.returns())


def _hooks_in_forward(forward: FunctionBody, source: str) -> Iterator[tuple[Any, str]]:
    """Hooks of modules of `self` that every call of forward registers, in a file that removes none."""
    if ".remove(" in source:
        return
    for i in _always(forward):
        func = forward.made.get(i.func) if isinstance(i, ir.Call) else None
        if isinstance(func, ir.GetAttr) and _HOOKS.fullmatch(func.name) and _is_of_self(forward, func.obj):
            yield i.node, func.name


def _always(body: FunctionBody) -> Iterator[ir.Instr]:
    """The instructions that run before anything is decided."""
    at: int | None = body.function.entry
    while at is not None:
        block = body.function.blocks[at]
        yield from block.instrs
        at = block.terminator.target if isinstance(block.terminator, ir.Jump) else None


def _is_of_self(body: FunctionBody, reg: int) -> bool:
    """Is it `self`, or an attribute or item of it, of any depth?"""
    while True:
        made = body.maker(reg)
        if not isinstance(made, (ir.GetAttr, ir.GetItem)):
            return bool(body.params) and body.source(reg) == body.params[0]
        reg = made.obj
