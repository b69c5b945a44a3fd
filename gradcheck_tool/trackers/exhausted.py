"""Iterators of parameters that have been gone through already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Generator, Iter
from gradcheck_tool.domain.values import Tup, Value
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.library.torch.parameters import parameters_in
from gradcheck_tool.trackers.events import ExhaustedParameters
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import Used


class Exhausted(Tracker):
    """Looks at what loops and clipping go through."""

    derives = (ExhaustedParameters,)
    # Generators that have given parameters, and nothing else.
    of_parameters = RunNote[Value, bool]()

    def on_used(self, m: Interpreter, s: State, fact: Used) -> None:
        """Is it an iterator of parameters at its end?"""
        site = fact.site
        if fact.by == "drained":
            if all(parameters_in(s, item) for item in fact.items):
                self.of_parameters[fact.value] = True
        elif fact.by in ("clip", "loop") and self._is_exhausted(s, fact.value) and self.once(id(site.node)):
            text = text_of(site, site.node.args[0].value if fact.by == "clip" else site.node)
            call = text_of(site, site.node) if fact.by == "clip" else f"for ... in {text}"
            self.report(ExhaustedParameters(site=site, iterator=text, call=call, use=fact.by))

    def _is_exhausted(self, s: State, value: Value) -> bool:
        generator = s.get(value, Generator)
        if generator is not None:
            return generator.block is None and value in self.of_parameters
        record = s.get(value, Iter)
        if record is None or record.kind != "drained":
            return False
        items = record.parts[0].items if record.parts and isinstance(record.parts[0], Tup) else ()
        last = items[-1] if items else None
        tensor = s.get(last.items[-1] if isinstance(last, Tup) and last.items else last, Tensor)
        return tensor is not None and tensor.is_param
