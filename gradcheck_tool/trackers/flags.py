"""Attempts to freeze tensors and modules that have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Frame, Instance
from gradcheck_tool.domain.values import FALSE, NONE, Symbol, Value
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.places import is_loaded, receiver_text, text_of
from gradcheck_tool.ir import syntax
from gradcheck_tool.library.torch.module_tree import is_module
from gradcheck_tool.trackers.events import FlagWrite
from gradcheck_tool.trackers.tracker import Tracker
from gradcheck_tool.trackers.uses import running

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import AttributeWritten, Compared, NameBound
    from gradcheck_tool.ir import nodes as ir

SETTABLE = frozenset({"requires_grad", "grad", "data", "names", "_grad", "_version", "_backward_hooks"})


class Flags(Tracker):
    """Reports attributes that are assigned, compared or bound to no effect."""

    derives = (FlagWrite,)

    def on_attribute_written(self, m: Interpreter, s: State, fact: AttributeWritten) -> None:
        """An attribute that a tensor or module does not have is of no effect."""
        i = fact.instr
        if i is None:
            return
        if s.get(fact.object, Tensor) is not None:
            if i.name == "requires_grad" and Symbol(("state-dict", fact.object)) in s.memory:
                if fact.value == FALSE and self.once(id(i)):
                    self._flag(m, s, "state-dict", i)
            elif i.name not in SETTABLE and self.once(id(i)):
                self._flag(m, s, "tensor", i)
            return
        record = s.get(fact.object, Instance)
        if record is not None and i.name not in record.attrs and _is_foreign(s, fact.object, record, i.name):
            if self.once(id(i)):
                self._flag(m, s, "module", i)

    def _flag(self, m: Interpreter, s: State, receiver: str, i: ir.SetAttr) -> None:
        site = m.site(s, i.node)
        self.report(FlagWrite(site=site, receiver=receiver, subject=receiver_text(site), name=i.name))

    def on_compared(self, m: Interpreter, s: State, fact: Compared) -> None:
        """`p.requires_grad == False` as a statement."""
        i = fact.instr
        left = getattr(i.node, "left", None)
        if not isinstance(left, syntax.Attribute) or left.attr.value != "requires_grad":
            return
        if not m.places.is_read(running(s), i.dst) and self.once(id(i)):
            site = m.site(s, i.node)
            subject = text_of(site, left.value)
            self.report(FlagWrite(site=site, receiver="compared", subject=subject, name="requires_grad"))

    def on_name_bound(self, m: Interpreter, s: State, fact: NameBound) -> None:
        """`p = p.detach()` for a parameter, where nothing reads the name any more."""
        i, tensor = fact.instr, s.get(fact.value, Tensor)
        source = s.get(tensor.base, Tensor) if tensor is not None and tensor.view == "detached" else None
        if tensor is None or source is None or not (source.is_param and source.leaf and source.requires_grad):
            return
        itself = receiver_text(tensor.site) == i.name
        if itself and not is_loaded(running(s), i) and self.once(id(i)):
            site = m.site(s, i.node)
            self.report(FlagWrite(site=site, receiver="rebound", subject=i.name, name="detach"))


def _is_foreign(s: State, obj: Value, record: Instance, name: str) -> bool:
    """Is it a module whose class is all known, does not define the name, and does not run now?"""
    cls = s.get(record.cls, Class)
    if record.open or (cls is not None and cls.open) or not is_module(s, record):
        return False
    frame: Frame = s[s.frames[-1]]
    runs = frame.cls != NONE and frame.receiver == obj
    return not runs and attributes.in_class(s, record.cls, name) is None
