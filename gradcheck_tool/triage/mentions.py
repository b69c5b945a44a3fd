"""Which functions of a file that runs by itself are worth executing on their own, where nothing calls them.

Judged by the names that occur in a function, in the functions inside it and in those of the same module that
it names. Functions that such a function calls are executed all the same, as part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.trigger import Condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.trigger import Trigger

_VIEWS = frozenset(["chunk", "split", "unbind", "tensor_split", "expand", "expand_as", "view_as", "unfold"])


@dataclass(frozen=True, slots=True)
class Mentions:
    """Names of which one is enough, and whether writes in place are. `everything`: all functions count."""

    names: frozenset[str] = frozenset()
    writes: bool = False
    everything: bool = False

    @classmethod
    def of(cls, triggers: Iterable[Trigger]) -> Mentions:
        """What some triggers look for."""
        known = tuple(triggers)
        names = frozenset(name for trigger in known for name in trigger.mentions)
        return cls(names, any(trigger.where is Condition.WRITES_TO_SHARED for trigger in known))

    def functions(self, module: ir.ModuleIR) -> set[int]:
        """Ids of the functions of a module that are worth executing."""
        mentions: dict[int, set[str]] = {}
        hot = set()
        for function in module.functions:
            names, writes = _names(function)
            mentions[id(function)] = names
            if self.everything or names & self.names or (self.writes and _may_write(names, writes)):
                hot.add(id(function))
        grew = bool(hot)
        while grew:
            called = {f.name for f in module.functions if id(f) in hot}
            more = {id(f) for f in module.functions if id(f) not in hot and mentions[id(f)] & called}
            hot |= more
            grew = bool(more)
        return hot


EVERYTHING = Mentions(everything=True)


def _may_write(names: set[str], writes: bool) -> bool:
    return any(map(_inplace, names)) or (writes and not names.isdisjoint(_VIEWS))


def _inplace(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def names_in(function: ir.Function) -> set[str]:
    """Names of variables, attributes and keywords in a function and those inside."""
    return _names(function)[0]


def _names(function: ir.Function) -> tuple[set[str], bool]:
    """Names of variables, attributes and keywords in a function and those inside; whether it writes items."""
    names: set[str] = set()
    writes = False
    for i in function.instructions():
        if isinstance(i, (ir.LoadName, ir.GetAttr, ir.SetAttr)):
            names.add(i.name)
        elif isinstance(i, (ir.InplaceOp, ir.SetItem)):
            writes = True
        elif isinstance(i, ir.Call):
            names.update(a.name for a in i.args if a.name)
    return names, writes
