"""Switches of grad mode that are not what they look like, or are never switched back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.values import FALSE, TRUE, LibraryObject
from gradcheck_tool.interp.places import running_function, text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.library.torch.grad_modes import CLASSES
from gradcheck_tool.trackers.events import GradModeMisuse
from gradcheck_tool.trackers.notes import StoryNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import Called, GradModeSwitched, ModuleCalled, RunEnded, Used


_MANAGERS = frozenset({*(name.rpartition(".")[2] for name in CLASSES), "autocast", "no_sync"})


class Switch:
    """A statement `torch.set_grad_enabled(False)`: where it is, and which modules its function ran."""

    def __init__(self, site: Site, frame: Ref) -> None:
        self.site = site
        self.frame = frame
        self.ran: set[int] = set()


class GradMode(Tracker):
    """Follows `no_grad`, `enable_grad`, `inference_mode` and `set_grad_enabled`."""

    derives = (GradModeMisuse,)
    # The last switch that is a statement of a function and switches gradients off.
    left_off = StoryNote[str, Switch]()

    def _misused(self, site: Site, kind: str) -> None:
        if self.once((id(site.node), kind)):
            self.report(GradModeMisuse(site=site, kind=kind, call=text_of(site, site.node)))

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Is a switch made that nothing enters, or one that is left off?"""
        if not isinstance(fact.func, LibraryObject):
            return
        i = fact.instr
        if fact.func.name in CLASSES and not m.places.is_read(running_function(s), i.dst):
            self._misused(m.site(s, i.node), "bare")
        elif fact.func.name == "torch.set_grad_enabled":
            self.left_off.pop(s, "switch")
            off = bool(i.args) and m.get(s, i.args[0].value) == FALSE
            function = running_function(s)
            if off and function.kind is not ir.FunctionKind.MODULE and not m.places.is_read(function, i.dst):
                self.left_off.set(s, "switch", Switch(m.site(s, i.node), s.frames[-1]))

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Is a manager made that nothing enters, in code that may not have been reached?"""
        module = fact.module
        own = {function.name for function in module.functions}
        for function in (module.body, *module.functions) if own.isdisjoint(_MANAGERS) else ():
            for call, kind in _unentered(function.worked_out(FunctionBody)):
                self._misused(Site(module, call.node), kind)

    def on_used(self, m: Interpreter, s: State, fact: Used) -> None:
        """`with torch.no_grad:` enters a class, which is no manager."""
        if fact.by == "with" and isinstance(fact.value, LibraryObject) and fact.value.name in CLASSES:
            self._misused(fact.site, "not-called")

    def on_module_called(self, m: Interpreter, s: State, fact: ModuleCalled) -> None:
        """In training mode, after the function that switched gradients off, that is a leak.

        Only modules that the function ran itself are looked at: it evaluated them, and they are trained on.
        """
        switch = self.left_off.get(s, "switch") if s.grad is False else None
        if switch is None:
            return
        if switch.frame in s.frames:
            switch.ran.add(fact.module.id)
        elif fact.module.id in switch.ran and s[fact.module].attrs.get("training") == TRUE:
            self._misused(switch.site, "never-restored")

    def on_grad_mode_switched(self, m: Interpreter, s: State, fact: GradModeSwitched) -> None:
        """Inside inference mode, gradients cannot be switched on."""
        if fact.on and s.inference and fact.site is not None:
            self._misused(fact.site, "enable-in-inference")


def _unentered(body: FunctionBody) -> Iterator[tuple[ir.Call, str]]:
    """The managers that a function makes and never enters, and what becomes of each."""
    for call in body.instrs:
        if not isinstance(call, ir.Call) or not _makes_manager(body, call):
            continue
        uses = list(body.uses(call.dst))
        if not uses:
            yield call, "bare"
        elif any(isinstance(use, ir.Branch) for use in uses):
            yield call, "tested"
        elif all(isinstance(use, ir.Yield) for use in uses) and _is_manager(body.function):
            yield call, "yielded"


def _makes_manager(body: FunctionBody, call: ir.Call) -> bool:
    """Does a call make a manager of torch that does nothing until it is entered, by its name?"""
    func = body.made.get(call.func)
    if isinstance(func, ir.GetAttr) and func.name == "no_sync":
        return not call.args
    name = func.name if isinstance(func, (ir.GetAttr, ir.LoadName)) else ""
    while isinstance(func, ir.GetAttr):
        func = body.made.get(func.obj)
    return name in _MANAGERS and isinstance(func, ir.LoadName) and func.scope is ir.Scope.GLOBAL


def _is_manager(function: ir.Function) -> bool:
    """Is a generator what `with` enters, by its decorator?"""
    decorators: Any = getattr(function.node, "decorators", ())
    names = (getattr(d.decorator, "attr", d.decorator) for d in decorators)
    return any(getattr(name, "value", "") == "contextmanager" for name in names)
