"""What the text does with names and methods: rules on style judge it once for each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import Bound, LibraryObject, Method, Ref, Symbol, Value
from gradcheck_tool.interp.imports import resolve_import
from gradcheck_tool.interp.names import canonical
from gradcheck_tool.interp.places import chain_owner, receiver_text, running_function, text_of
from gradcheck_tool.interp.transfer import lookup
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.model_names import model_names
from gradcheck_tool.library.torch.module_tree import is_module
from gradcheck_tool.trackers.events import DroppedResult, MethodUse, NameUse, UncalledMethod
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import AttributeRead, AttributeWritten, Called, RunEnded

CONTEXT = LibraryObject("#ctx")
# Methods by which other objects than tensors change themselves.
CHANGES = frozenset({"add", "sub", "mul", "div", "clip"})


class Uses(Tracker):
    """Reports which names of libraries, methods and attributes the code uses."""

    derives = (DroppedResult, MethodUse, NameUse, UncalledMethod)

    def on_called(self, m: Interpreter, s: State, fact: Called) -> None:
        """Report what a call instruction calls, and whether its result is discarded."""
        func, i = fact.func, fact.instr
        if isinstance(func, LibraryObject):
            if not func.name.startswith("builtins.") and self.once((id(i), func.name)):
                keywords = _keywords(fact)
                site = m.site(s, i.node)
                self.report(NameUse(site=site, name=func.name, called=True, keywords=keywords))
        elif isinstance(func, Method):
            if self.once((id(i), func.name, _mark(s, func.receiver))):
                self._method(m, s, func, fact)
        elif isinstance(func, Symbol) and _is_attribute(func) and self.once((id(i), "unknown")):
            self._report_call(m.site(s, i.node), "unknown", func.key[2], fact)  # type: ignore[index]

    def _method(self, m: Interpreter, s: State, func: Method, fact: Called) -> None:
        kind, site = receiver_kind(s, func.receiver), m.site(s, fact.instr.node)
        self._report_call(site, kind, func.name, fact)
        if kind == "tensor" and not m.places.is_read(running_function(s), fact.instr.dst):
            owner = _unchanged(m, s, site)
            # What has no graph is the same detached, and so may be what nothing is known of.
            is_same = func.name == "detach" and s[func.receiver].requires_grad is not True  # type: ignore[index]
            if owner and not is_same and not (func.name in CHANGES and _is_taken_for_tensor(s, func)):
                call = text_of(site, fact.instr.node)
                self.report(DroppedResult(site=site, tensor=owner, call=call, name=func.name))

    def _report_call(self, site: Site, kind: str, name: str, fact: Called) -> None:
        subject, keywords = receiver_text(site), _keywords(fact)
        self.report(
            MethodUse(site=site, receiver=kind, subject=subject, name=name, called=True, keywords=keywords)
        )

    def on_attribute_read(self, m: Interpreter, s: State, fact: AttributeRead) -> None:
        """Report a method that is not called, or an attribute of a tensor or context."""
        i = fact.instr
        if not isinstance(fact.value, (Method, Bound)):
            self._attribute(m, s, fact.object, i)
            return
        is_dropped = not m.places.is_read(running_function(s), i.dst)
        if is_dropped and self.once((id(i), "uncalled", _mark(s, fact.object))):
            site = m.site(s, i.node)
            kind, subject = receiver_kind(s, fact.object), receiver_text(site)
            self.report(UncalledMethod(site=site, receiver=kind, subject=subject, name=i.name))

    def on_attribute_written(self, m: Interpreter, s: State, fact: AttributeWritten) -> None:
        """Report an attribute of a tensor that is assigned."""
        if fact.instr is not None and s.get(fact.object, Tensor) is not None:
            self._attribute(m, s, fact.object, fact.instr)

    def _attribute(self, m: Interpreter, s: State, obj: Value, i: ir.GetAttr | ir.SetAttr) -> None:
        record = s.heap.get(obj.id) if isinstance(obj, Ref) else None
        is_context = isinstance(record, Instance) and record.cls == CONTEXT
        if (is_context or isinstance(record, Tensor)) and self.once((id(i), _mark(s, obj))):
            site = m.site(s, i.node)
            kind, subject = receiver_kind(s, obj), receiver_text(site)
            self.report(MethodUse(site=site, receiver=kind, subject=subject, name=i.name))

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """Report names in functions that were not executed to their end: that takes no execution.

        They are those that the module's body has bound to names of libraries.
        """
        if m.program.main is None or not fact.cut_short:
            return
        bound = s[s.frames[0]].locals
        for function in _named(m.program.main.body, fact.cut_short):
            known: dict[ir.Reg, LibraryObject] = {}
            for instr in (instr for block in function.blocks.values() for instr in block.instrs):
                if isinstance(instr, ir.LoadName) and instr.scope is ir.Scope.GLOBAL and instr.name in bound:
                    value = resolve_import(m, s, bound[instr.name])
                    if isinstance(value, LibraryObject):
                        known[instr.dst] = value
                elif isinstance(instr, ir.GetAttr) and instr.obj in known:
                    known[instr.dst] = LibraryObject(canonical(f"{known[instr.obj].name}.{instr.name}"))
                elif isinstance(instr, ir.Call) and instr.func in known:
                    self._unreached(Site(m.program.main, instr.node), known[instr.func].name, instr)

    def _unreached(self, site: Site, name: str, call: ir.Call) -> None:
        sure = all(argument.kind is not ir.ArgKind.DOUBLE_STAR for argument in call.args)
        if sure and self.once((id(call), name)):
            keywords = tuple(argument.name for argument in call.args if argument.name is not None)
            self.report(NameUse(site=site, name=name, called=True, keywords=keywords))


def receiver_kind(s: State, value: Value) -> str:
    """The kind of an object in the words of `MethodUse`."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        return "tensor"
    if not isinstance(record, Instance):
        return "unknown"
    if record.cls == LibraryObject("#ctx"):
        return "context"
    if record.cls == LibraryObject("torch.amp.GradScaler"):
        return "scaler"
    if is_module(s, record):
        return "module"
    names = model_names(s, value)
    if "scheduler" in names:
        return "scheduler"
    return "optimizer" if "torch.optim.Optimizer" in names else "unknown"


def _unchanged(m: Interpreter, s: State, site: Site) -> str:
    """The tensor that a chain of methods starts from; empty where it starts from anything else.

    `torch.zeros(1).cuda()` and `self.net(x).detach()` make the tensor that they drop.
    """
    owner, is_long = chain_owner(site)
    if not is_long:
        return owner
    scope = ir.Scope.LOCAL if owner in running_function(s).local_names else ir.Scope.FREE
    return owner if s.get(lookup(m, s, owner, scope), Tensor) is not None else ""


def _is_taken_for_tensor(s: State, func: Method) -> bool:
    """Is nothing known of an object but that a method of tensors was called on it?

    Queues and meters have a mean, too, and what is added to them is not discarded.
    """
    names = (name for name, value in s.memory.items() if value == func.receiver)
    return any(isinstance(name, Symbol) and name.kind is None for name in names)


def _mark(s: State, value: Value) -> object:
    """What tells kinds of objects apart, found faster than the kind."""
    record = s.heap.get(value.id) if isinstance(value, Ref) else None
    return record.cls if isinstance(record, Instance) else type(record)


def _is_attribute(func: Symbol) -> bool:
    return isinstance(func.key, tuple) and len(func.key) == 3 and func.key[0] == "attr"


def _keywords(fact: Called) -> tuple[str, ...]:
    return (*fact.kwargs, "**") if fact.unsure else tuple(fact.kwargs)


def _named(around: ir.Function, qualnames: frozenset[str]) -> Iterator[ir.Function]:
    """The functions of these names in a module or class."""
    for function in around.inner:
        if function.qualname in qualnames:
            yield function
        elif function.kind is ir.FunctionKind.CLASS:
            yield from _named(function, qualnames)
