"""Protocols of torch.distributed and its wrapper, judged when a backward reaches what they touched."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Tup, Value
from gradcheck_tool.ir import syntax
from gradcheck_tool.library.torch.distributed import COLLECTIVES, DDP, in_no_sync
from gradcheck_tool.trackers.events import DistributedMisuse
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import BackwardRan, ModuleReturned, RunEnded, Written


class Distributed(Tracker):
    """Looks out for graph nodes in backward passes: what is then wrong, or whose forward made them."""

    derives = (DistributedMisuse,)
    wrong = RunNote[int, DistributedMisuse]()
    forwards = RunNote[int, Ref]()

    def on_module_returned(self, m: Interpreter, s: State, fact: ModuleReturned) -> None:
        """A wrapper outside of `no_sync()`, or what it wraps, as in `wrapper.module(...)`."""
        ref, call = fact.module, fact.call
        wrapper = LibraryObject(DDP)
        if s[ref].cls == wrapper and not in_no_sync(s, ref):
            for number in _nodes(s, fact.value):
                self.forwards[number] = ref
        func = getattr(call.site.node, "func", None)
        if not isinstance(func, syntax.Attribute) or func.attr.value != "module" or s.grad is not True:
            return
        for _, record in s.records(Instance):
            if record.cls == wrapper and record.attrs.get("module") == ref:
                subject = str(record.name or "the wrapper")
                event = DistributedMisuse(
                    site=call.site, kind="inner-module", call=str(call.text), subject=subject
                )
                self._expect(s, fact.value, event)

    def on_written(self, m: Interpreter, s: State, fact: Written) -> None:
        """A collective operation writes to a tensor in place."""
        if fact.how in COLLECTIVES and s.grad is True:
            call, subject = str(m.label(s, fact.site.node)), str(s[fact.tensor].name)
            event = DistributedMisuse(site=fact.site, kind="inplace-collective", call=call, subject=subject)
            self._expect(s, fact.tensor, event)

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """What has the backward reached?"""
        for ref in fact.run.ran if self.wrong or self.forwards else ():
            event = self.wrong.pop(ref.id, None)
            if event is not None:
                self.report(event)
            owner = self.forwards.get(ref.id)
            if owner is not None and in_no_sync(s, owner):
                subject, call = str(s[owner].name or "the model"), str(fact.run.text)
                self.report(
                    DistributedMisuse(site=fact.run.site, kind="no-sync-backward", call=call, subject=subject)
                )

    def on_run_ended(self, m: Interpreter, s: State, fact: RunEnded) -> None:
        """What would the backward of those who call the units reach?"""
        for each in m.program.assumed_passes:
            for number in each.reached & self.wrong.keys():
                event = self.wrong[number]
                if self.once(id(event.site.node)):
                    self.report(replace(event, assumes=each.assumes, unit=each.unit))

    def _expect(self, s: State, value: Value, event: DistributedMisuse) -> None:
        for number in _nodes(s, value):
            self.wrong[number] = event


def _nodes(s: State, value: Value) -> list[int]:
    """The graph nodes of the tensors among a value or its items."""
    found = []
    for item in value.items if isinstance(value, Tup) else (value,):
        tensor = s.get(item, Tensor)
        if tensor is not None and tensor.requires_grad and tensor.grad_fn is not None:
            found.append(tensor.grad_fn.id)
    return found
