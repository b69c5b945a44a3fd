"""Training and evaluation mode: is a module trained in the mode it was evaluated in?

`eval()` is noted on the modules that it reaches. A forward without gradients then evaluates the module. When
the same place that ran it in training mode then runs it with gradients, and an optimizer steps, nobody has
switched it back. So it is where the program called `train()` and never ran the module in that mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import Site
from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import FALSE, TRUE, Const, LibraryObject, Ref
from gradcheck_tool.interp.places import text_of
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.module_tree import modules, named_parameters
from gradcheck_tool.trackers.events import EvalModeTraining
from gradcheck_tool.trackers.notes import RunNote, StateNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import ModeSwitched, ModuleCalled, Stepped

# Layers that compute something else while they are trained.
MODAL = (
    "Dropout",
    "BatchNorm",
    "SyncBatchNorm",
    "Transformer",
    "AlphaDropout",
    "FeatureAlphaDropout",
    "RReLU",
)


class Modes(Tracker):
    """Follows what `train()` and `eval()` reach, and where modules then run."""

    derives = (EvalModeTraining,)
    # Where `eval()` has reached a module; None once `train()` has.
    eval_call = StateNote[Site | None]()
    evaluated = StateNote[bool]()
    # A place that has trained the module runs it with gradients, after it was evaluated.
    stale = StateNote[bool]()
    # `train()` is called on it, and it has not run in training mode since.
    wanted = StateNote[bool]()
    trained = RunNote[tuple[int, int], bool]()

    def on_mode_switched(self, m: Interpreter, s: State, fact: ModeSwitched) -> None:
        """Note the mode on all modules that it reaches."""
        for ref in fact.modules:
            self.evaluated.clear(s, ref)
            self.stale.clear(s, ref)
            self.eval_call.set(s, ref, fact.site if fact.training == FALSE else None)
        if fact.training == TRUE:
            self.wanted.set(s, fact.modules[0], True)

    def on_module_called(self, m: Interpreter, s: State, fact: ModuleCalled) -> None:
        """Is the module trained or evaluated here?"""
        ref, place = fact.module, (fact.module.id, id(fact.call.site.node))
        training = s[ref].attrs.get("training")
        if training == TRUE and s.grad is True:
            self.trained[place] = True
            self.wanted.clear(s, ref)
        elif training == FALSE and self.eval_call.get(s, ref) is not None:
            if s.grad is False and not self.evaluated.get(s, ref):
                self.evaluated.set(s, ref, True)
            elif s.grad is True and self.evaluated.get(s, ref) and not self.stale.get(s, ref):
                if place in self.trained or self.wanted.get(s, ref):
                    self.stale.set(s, ref, True)

    def on_stepped(self, m: Interpreter, s: State, fact: Stepped) -> None:
        """Is a module whose parameters are moved trained in evaluation mode?"""
        for ref, record in s.records(Instance):
            site = self.eval_call.get(s, ref)
            if site is None or not self.stale.get(s, ref):
                continue
            moved = {p for _, p in named_parameters(s, ref)[0] if s[p].grad_state in ("fresh", "mixed")}
            if moved.isdisjoint(fact.parameters) or not any(_is_modal(s, at) for _, at in modules(s, ref)):
                continue
            if self.once(id(site.node)):
                call = text_of(site, site.node)
                event = EvalModeTraining(site=site, module=record.name, call=call, optimizer=fact.name)
                self.report(event)


def _is_modal(s: State, ref: Ref) -> bool:
    """Does the module itself compute something else in training? One of an unknown kind may."""
    record: Instance = s[ref]
    if isinstance(record.cls, LibraryObject):
        name = record.cls.name.rpartition(".")[2]
        return (
            name == "Module" or name.startswith(MODAL) or record.attrs.get("dropout") not in (None, Const(0))
        )
    cls = s.get(record.cls, Class)
    return cls is not None and any(_reads_mode(s, owner) for owner in cls.mro)


def _reads_mode(s: State, owner: Any) -> bool:
    cls = s.get(owner, Class)
    functions = [s.get(value, Func) for value in cls.attrs.values()] if cls is not None else []
    return any(
        isinstance(i, ir.GetAttr) and i.name == "training"
        for func in functions
        if func is not None
        for block in func.function.blocks.values()
        for i in block.instrs
    )
