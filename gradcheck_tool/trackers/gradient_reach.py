"""What the backward passes of a run reach, and what is cut off from them.

The engine notes a cut where it happens, and the cut goes along with what is computed from it; a graph node
keeps the cuts of its constant inputs. Only a backward shows whether a cut matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Dict
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.module_tree import whole_groups
from gradcheck_tool.trackers.notes import RunNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from gradcheck_tool.domain.graph import GraphCut
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import BackwardRan, RunEnded, Taken


class GradientReach(Tracker):
    """Base class of trackers that report what no gradient reaches."""

    # The leaves that a pass has reached.
    fed = RunNote[int, bool]()
    # Parameters that are set from others, as those of a target network: nobody trains them.
    followers = RunNote[int, bool]()
    # Where passes ran, and whether one of them went on where the model cannot see.
    passes = RunNote[int, bool]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """Note what the pass has reached."""
        place = id(fact.run.site.node)
        self.passes[place] = self.passes.get(place, False) or fact.run.is_astray
        for leaf in fact.run.leaves:
            self.fed[leaf.id] = True

    def on_taken(self, m: Interpreter, s: State, fact: Taken) -> None:
        """Do parameters that are loaded follow others of the program, or get the values of a checkpoint?"""
        given = s.get(fact.given, Dict) if fact.by == "loaded" else None
        if given is not None and any(s.get(value, Tensor) is not None for value in given.items.values()):
            for ref in fact.records:
                self.followers[ref.id] = True

    def missed(self, s: State, cut: GraphCut, run: BackwardPass, *, groups: bool = False) -> list[Ref]:
        """The leaves behind a cut that the pass would have trained, and has not reached in another way.

        With `groups` also what stands for all parameters of a module of which only the role is known.
        """
        reached = {leaf.id for leaf in run.leaves}
        behind = leaves_behind(s, cut.sources, whole_groups(s) if groups else ())
        return [leaf for leaf in behind if leaf.id not in reached and leaf.id not in self.followers]

    def is_complete(self, fact: RunEnded) -> bool:
        """Is all known that the backward calls in the text of the module reach?"""
        return not any(self.passes.values()) and (fact.is_complete or self._all_ran(fact.module))

    def _all_ran(self, module: ir.ModuleIR) -> bool:
        """Has every backward that the text calls been executed at least once?"""
        return all(id(call.node) in self.passes for call in _backward_calls(module))


def _backward_calls(module: ir.ModuleIR) -> Iterator[ir.Call]:
    for function in (module.body, *module.functions):
        instrs = [i for block in function.blocks.values() for i in block.instrs]
        names = {
            i.dst
            for i in instrs
            if isinstance(i, ir.GetAttr) and i.name in ("backward", "grad", "manual_backward")
        }
        yield from (i for i in instrs if isinstance(i, ir.Call) and i.func in names)


def leaves_behind(s: State, sources: Iterable[Any], groups: Container[int] = ()) -> Iterator[Ref]:
    """The leaves that what is computed from the sources sends gradients to.

    Sources are edges of the graph: nodes and leaves. Of leaves that stand for several only `groups` count.
    """
    seen: set[int] = set()
    todo = list(sources)
    while todo:
        at = todo.pop()
        record = s.heap.get(at.id) if isinstance(at, Ref) else None
        if record is None or at.id in seen:
            continue
        seen.add(at.id)
        if isinstance(record, Node):
            todo.extend(record.inputs)
        elif isinstance(record, Tensor) and record.requires_grad:
            if not record.is_summary or at.id in groups:
                yield at


def held_by_variables(s: State) -> set[int]:
    """The records that the variables of the running functions and their modules lead to, by number."""
    frames = [s[ref] for ref in s.frames]
    variables = [frame.locals for frame in frames] + [s[frame.env.globals].locals for frame in frames]
    named = (value for names in variables for name, value in names.items() if isinstance(name, str))
    return {ref.id for ref in reachable(s, named)}
