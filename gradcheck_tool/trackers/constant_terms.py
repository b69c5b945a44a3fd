"""Backward calls, and the parts of their roots that are constants, cut off from what made them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.graph import ConstantInput, GraphCut, Node, Tensor
from gradcheck_tool.domain.values import NONE, Ref, Value
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.trackers.events import BackwardCall, GraphBreak
from gradcheck_tool.trackers.gradient_reach import GradientReach

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter
    from gradcheck_tool.interp.facts import BackwardRan

# Operations of a root whose constant operands are terms of a sum, and those that scale it by a number.
SUMS = frozenset(
    {"+", "-", "+=", "-=", "add", "sub", "add_", "sub_", "AddBackward0", "SubBackward0", "RsubBackward1"}
)
SCALINGS = frozenset(
    {"*", "/", "*=", "/=", "neg", "mul", "div", "MulBackward0", "DivBackward0", "NegBackward0"}
)
# Those that make one number of all elements: what was added to each is a term of the root's.
TOTALS = frozenset({"mean", "sum", "MeanBackward0", "SumBackward0"})
# Those that put tensors together.
JOINS = frozenset({"stack", "cat", "StackBackward0", "CatBackward0"})
# Cuts that are not made to get a constant: a constant term made so is no trick.
UNASKED = frozenset({"non-differentiable", "create-graph", "no-grad", "numpy", "item"})


Breaks = tuple[GraphBreak, ...]


class ConstantTerms(GradientReach):
    """Reports each backward call, with what entered its root cut off."""

    derives = (BackwardCall,)

    def on_backward_ran(self, m: Interpreter, s: State, fact: BackwardRan) -> None:
        """Report the call."""
        super().on_backward_ran(m, s, fact)
        run = fact.run
        if run.call == "backward":
            missed = lambda cut: not run.opaque and bool(self.missed(s, cut, run))  # noqa: E731
            self.report(backward_call(s, run, str(s[run.roots[0]].name), missed))


def backward_call(
    s: State, run: BackwardPass, root: str, misses: Callable[[GraphCut], bool] = lambda _: False
) -> BackwardCall:
    """A backward pass as rules judge it.

    Args:
        s: the state in which it has run.
        run: the pass.
        root: what is differentiated, in the user's words.
        misses: whether a cut keeps the pass from what it would train.
    """
    breaks, terms = _constants(s, run, misses) if run.inputs is None else ((), ())
    # A tensor that is given its gradient is no loss: what made it is of another pass.
    losses = [root for root, given in zip(run.roots, run.given, strict=True) if not given]
    made = (made for root in losses if (made := _made_leaf(s, root)))
    return BackwardCall(
        site=run.site,
        root=root,
        retain_graph=bool(run.retain),
        create_graph=bool(run.create),
        breaks=breaks,
        constant_terms=terms,
        factors=_factors(s, run),
        made_leaf=next(made, ""),
    )


def _made_leaf(s: State, root: Ref) -> str:
    """The call that made a leaf of what a root is, or of all that it adds up; '' for none.

    A hook of a loss may differentiate the rest, as it is done where gradients are cached.
    """
    calls: list[str] = []
    todo: list[Any] = [root if s[root].leaf else s[root].grad_fn]
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        tensor, node = s.get(at, Tensor), s.get(at, Node)
        if tensor is not None and tensor.made_leaf and not tensor.hooks:
            calls.append(str(tensor.made_leaf))
        elif node is None or not _adds_up(node):
            return ""
        elif at.id not in seen:
            seen.add(at.id)
            todo += [edge for edge in node.inputs if edge != NONE]
    return calls[0] if calls else ""


def _adds_up(node: Node) -> bool:
    """Does a node only add and put together what it is given, or scale it by a number that is no tensor?"""
    is_scaled = node.op in SCALINGS and len(node.inputs) == 1
    return is_scaled or node.op in SUMS | TOTALS | JOINS


def _constants(s: State, run: BackwardPass, misses: Callable[[GraphCut], bool]) -> tuple[Breaks, Breaks]:
    """The breaks of a pass and the constant terms of its roots."""
    terms = {id(term) for term in _terms(s, run)}
    reached = {*run.ran, *(edge for ref in run.ran for edge in s[ref].inputs)}
    breaks: dict[int, GraphBreak] = {}
    constants: dict[int, GraphBreak] = {}
    for ref in run.ran:
        for loose in s[ref].constant_inputs:
            is_term = id(loose) in terms
            is_copied = any(cut.kind == "retensor" for cut in loose.severed)
            for cut in loose.severed:
                if cut.kind == "sample" or not (is_term or cut.kind == "retensor"):
                    continue
                if is_copied and cut.kind in UNASKED:  # what was copied had a graph to the end
                    continue
                if cut.kind == "retensor" or (cut.kind == "create-graph" and is_term):
                    if is_term or misses(cut):
                        breaks.setdefault(id(cut), GraphBreak.of(cut))
                elif _is_unasked(s, cut, loose, reached) or misses(cut):
                    name = str(loose.name) or str(cut.call)
                    constants.setdefault(id(loose), replace(GraphBreak.of(cut), tensor=name))
    return tuple(breaks.values()), tuple(constants.values())


def _factors(s: State, run: BackwardPass) -> frozenset[Site]:
    """Where what enters the graph in another way than as a term of the root was cut off."""
    terms = {id(term) for term in _terms(s, run)}
    loose = (entered for ref in run.ran for entered in s[ref].constant_inputs if id(entered) not in terms)
    return frozenset(cut.site for entered in loose for cut in entered.severed)


def _is_unasked(s: State, cut: GraphCut, loose: ConstantInput, reached: set[Value]) -> bool:
    """Is it a constant term that nobody writes on purpose?

    `loss + other.detach()` may be a trick to change a value only, and so may be a difference of two, and what
    is computed from results that the pass reaches in another way: a shift by a statistic of theirs, or a
    reward that weights a probability which happens to be constant. A term that is computed from many other
    values, or from a Parameter's (a penalty), is none, nor is a single number that has a weight.
    """
    if cut.kind in ("detach", "data"):
        results = [at for at in cut.sources if (leaf := s.get(at, Tensor)) is None or not leaf.is_param]
        is_trick = bool(results) and reached.issuperset(cut.sources)
        is_alone = numel_is_one(cut.shape) is not True or len(loose.severed) == 1
        return is_alone and cut.storage != loose.storage and not is_trick
    return cut.kind in UNASKED


def _terms(s: State, run: BackwardPass) -> list[ConstantInput]:
    """The constant operands of the sums that a root ends in, scaled by numbers or not."""
    found: list[ConstantInput] = []
    todo: list[Any] = [s[root].grad_fn for root in run.roots if numel_is_one(s[root].shape) is not False]
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        node = s.get(at, Node)
        if node is None or at.id in seen:
            continue
        seen.add(at.id)
        if node.op in SUMS:
            found += [loose for loose in node.constant_inputs if numel_is_one(loose.shape) is True]
            todo += node.inputs
        elif node.op in TOTALS or _is_scaling(node):
            todo += node.inputs
    return found


def _is_scaling(node: Node) -> bool:
    """Is one tensor scaled here by a number that nothing was cut off from?"""
    return (
        node.op in SCALINGS and sum(isinstance(e, Ref) for e in node.inputs) == 1 and not node.constant_inputs
    )
