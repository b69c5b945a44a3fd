"""Steps of optimizers, and gradients that are clipped or cleared, with what the gradients are then."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, TRUE, Const, Method, Symbol, Value
from gradcheck_tool.interp.places import owner_text, running_function
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody
from gradcheck_tool.library.torch.grad_scaler import CARRIED
from gradcheck_tool.library.torch.module_tree import parameters_of, whole_groups
from gradcheck_tool.library.torch.optimizers import params_of
from gradcheck_tool.trackers.events import ClipGradients, GradientsCleared, OptimizerStep
from gradcheck_tool.trackers.notes import StoryNote
from gradcheck_tool.trackers.tracker import Tracker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref
    from gradcheck_tool.interp import facts
    from gradcheck_tool.interp.api import Interpreter

_CLIPPING = frozenset({"clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"})
# What the `.grad` of a parameter is, in the words of `OptimizerStep`, by the state that the engine keeps.
_KINDS = {
    "none": "none",
    "fresh": "fresh",
    "mixed": "fresh",
    "used": "stale",
    "zeroed": "zeroed",
    "assigned": "fresh",
    "scaled": "scaled",
}


_MOMENTS = count(1)


class TrainingCalls(Tracker):
    """Reports each step, clipping and clearing: rules compare all of a file."""

    derives = (ClipGradients, GradientsCleared, OptimizerStep)
    # A new number whenever something may have stored gradients since the first backward: a pass, the program
    # itself, or code that is not in sight; and that at which an optimizer has cleared all of its gradients.
    moment = StoryNote[str, int]()
    emptied = StoryNote[Value, int]()
    # Has the last pass started at a leaf, so that it has stored no gradient in anything else?
    fruitless = StoryNote[str, bool]()

    def on_backward_ran(self, m: Interpreter, s: State, fact: facts.BackwardRan) -> None:
        """A pass stores gradients."""
        self.moment.set(s, "", next(_MOMENTS))
        self.fruitless.set(s, "", all(s[root].leaf for root in fact.run.roots))

    def on_called(self, m: Interpreter, s: State, fact: facts.Called) -> None:
        """Does an optimizer clear its gradients, or code run that may store some?"""
        func = fact.func
        clears = isinstance(func, Method) and func.name == "zero_grad"
        now = self.moment.get(s, "") if clears or isinstance(func, Symbol) else None
        if now is None:
            return
        if isinstance(func, Method):
            self.emptied.set(s, func.receiver, now)
        else:
            self.moment.set(s, "", next(_MOMENTS))

    def on_attribute_written(self, m: Interpreter, s: State, fact: facts.AttributeWritten) -> None:
        """The program may store gradients itself, of parameters that it goes through."""
        if fact.name == "data":
            self._fill(s, fact.object)
        elif fact.name == "grad" and fact.value != NONE and self.moment.get(s, "") is not None:
            self.moment.set(s, "", next(_MOMENTS))

    def on_item_written(self, m: Interpreter, s: State, fact: facts.ItemWritten) -> None:
        """It may also write into gradients that are there."""
        self._fill(s, fact.container)

    def on_written(self, m: Interpreter, s: State, fact: facts.Written) -> None:
        """It may do so with an operation."""
        self._fill(s, fact.tensor)

    def _fill(self, s: State, value: Value) -> None:
        """Something is written: is it a gradient?"""
        tensor = s.get(value, Tensor)
        if tensor is not None and tensor.grads_of and self.moment.get(s, "") is not None:
            self.moment.set(s, "", next(_MOMENTS))

    def on_stepped(self, m: Interpreter, s: State, fact: facts.Stepped) -> None:
        """Report what the gradients are that an optimizer is about to apply."""
        params, is_open = params_of(s, fact.optimizer)
        kinds = _gradient_kinds(s, params, is_open and not _is_whole(s, params))
        if kinds == {"none"} and self.moment.get(s, "") is None and not _are_used(s, params):
            kinds = frozenset({"unused"})
        emptied = self.emptied.get(s, fact.optimizer)
        if emptied is not None and emptied == self.moment.get(s, ""):
            kinds = (kinds - {"unknown"}) or frozenset({"zeroed"})
        if kinds == {"zeroed"} and self.fruitless.get(s, ""):
            kinds = frozenset({"unused"})
        if kinds == {"zeroed"} and _stores_in_rounds(running_function(s)):
            # Of a module of which no parameter is known, this way has stored none.
            kinds = frozenset({"unknown"})
        self.report(
            OptimizerStep(
                site=fact.site,
                optimizer=fact.name,
                gradients=kinds,
                scaler=fact.scaler,
                in_loop=s.again or m.places.repeats(s, fact.site),
            )
        )

    def on_computed(self, m: Interpreter, s: State, fact: facts.Computed) -> None:
        """Report what the gradients are that are clipped."""
        if fact.operation in _CLIPPING:
            given = fact.arguments["parameters"]
            assert not isinstance(given, list)
            kinds = _clipped_kinds(s, *parameters_of(s, given))
            if kinds == {"scaled"} and _takes_off_in_rounds(running_function(s), fact.site.node):
                # Each optimizer's scale is taken off, and this way has none.
                kinds = frozenset({"unknown"})
            self.report(
                ClipGradients(
                    site=fact.site,
                    target=owner_text(fact.site),
                    gradients=kinds,
                    is_result=(only := s.get(given, Tensor)) is not None and only.leaf is False,
                    measures=fact.arguments.get("max_norm") == Const(float("inf")),
                )
            )

    def on_gradients_cleared(self, m: Interpreter, s: State, fact: facts.GradientsCleared) -> None:
        """Report whose gradients are cleared, and whether they have been applied."""
        self.report(GradientsCleared(site=fact.site, target=fact.target, fresh=fact.is_fresh))


def _clipped_kinds(s: State, params: Sequence[Ref], is_open: bool) -> frozenset[str]:
    """What gradients are that are clipped: unknown ones carry the scale that a scaler has put on."""
    kinds = _gradient_kinds(s, params, is_open and not _is_whole(s, params))
    is_carried = any(record.attrs.get(CARRIED) == TRUE for _, record in s.records(Instance))
    return frozenset({"scaled"}) if kinds <= {"unknown", "scaled"} and is_carried else kinds


def _takes_off_in_rounds(function: ir.Function, clipping: Any) -> bool:
    """Does a loop beside the place take the scale off, in no round where there is nothing to go through?"""
    for loop in function.loops.values():
        instrs = [instr for block in loop.blocks for instr in function.blocks[block].instrs]
        takes_off = any(isinstance(i, ir.GetAttr) and i.name == "unscale_" for i in instrs)
        if takes_off and not any(isinstance(i, ir.Call) and i.node is clipping for i in instrs):
            return True
    return False


def _stores_in_rounds(function: ir.Function) -> bool:
    """Does a loop store gradients, in no round where there is nothing to go through?"""
    is_none = function.worked_out(FunctionBody).is_none
    return any(
        isinstance(i, ir.SetAttr) and i.name == "grad" and not is_none(i.src)
        for loop in function.loops.values()
        for block in loop.blocks
        for i in function.blocks[block].instrs
    )


def _is_whole(s: State, params: Sequence[Ref]) -> bool:
    """Are they all the parameters of modules of which only the role is known?"""
    return bool(params) and {p.id for p in params} <= whole_groups(s)


def _are_used(s: State, params: Sequence[Ref]) -> bool:
    """Has anything been computed with these parameters that a pass could start at?"""
    return any(param in node.inputs for _, node in s.records(Node) for param in params)


def _gradient_kinds(s: State, params: Sequence[Ref], is_open: bool) -> frozenset[str]:
    """What the `.grad` of parameters that require grad are."""
    kinds = {_KINDS.get(s[p].grad_state, "unknown") for p in params if s[p].requires_grad is not False}
    if is_open or not kinds:
        kinds.add("unknown")
    return frozenset(kinds)
