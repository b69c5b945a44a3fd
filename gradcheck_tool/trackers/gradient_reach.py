"""What was cut off from a back-propagated root: constant terms, copies, and parameters nothing reaches.

A cut is remembered where it happens (`engine.cut_off`) and goes along with what is computed from it; a
graph node keeps the cuts of its constant inputs. Only at a backward is it judged whether a cut matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    GraphBreak,
    InnerUpdateCut,
    NonReparametrised,
    OptimizerStep,
    ParameterOfResult,
    StoryStep,
    ZeroGradient,
)
from gradcheck_tool.domain.graph import ConstantInput, GraphCut, Node, Tensor
from gradcheck_tool.domain.records import Dict
from gradcheck_tool.domain.values import NONE, Const, Ref, Symbol, Value
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir import nodes as ir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.engine.backward import BackwardPass
    from gradcheck_tool.interp.api import Interpreter

# Operations of a root whose constant operands are terms of a sum, and those that scale it by a number.
SUMS = frozenset(
    {"+", "-", "+=", "-=", "add", "sub", "add_", "sub_", "AddBackward0", "SubBackward0", "RsubBackward1"}
)
SCALINGS = frozenset(
    {"*", "/", "*=", "/=", "neg", "mul", "div", "MulBackward0", "DivBackward0", "NegBackward0"}
)
# Those that make one number of all elements: what was added to each is a term of the root's.
TOTALS = frozenset({"mean", "sum", "MeanBackward0", "SumBackward0"})
# Operations whose derivative is zero wherever there is one.
ZERO = frozenset({"round", "floor", "ceil", "trunc", "fix", "sign", "sgn", "bernoulli", "normal"})
# Cuts that nobody asks for to get a constant: a constant term made so is no trick.
UNASKED = frozenset({"non-differentiable", "create-graph", "no-grad", "numpy", "item"})


# Operations of layers that a latent value is fed to.
LAYERS = frozenset({"linear", "conv1d", "conv2d", "conv3d", "AddmmBackward0", "CatBackward0"})


@dataclass(slots=True)
class Ledger:
    """Parameters over all paths of a program: which a gradient has reached, which are cut off from a root.

    `starving` has for each parameter, by place, how many values are cut off there.
    `following` are those that are set from others, as a target network is: nobody trains them.
    `harmless` are places that cut off, at least once, only what a gradient reaches otherwise, `shared` those
    whose values several backward calls use, `kept` what must live on for its identity.
    """

    fed: set[int] = field(default_factory=set)
    starving: dict[int, dict[int, tuple[int, GraphBreak]]] = field(default_factory=dict)
    following: set[int] = field(default_factory=set)
    starved: dict[int, OptimizerStep] = field(default_factory=dict)
    samples: dict[int, tuple[NonReparametrised, set[int]]] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)
    stuck: dict[int, ZeroGradient] = field(default_factory=dict)
    harmless: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    kept: list[object] = field(default_factory=list)
    updates: dict[int, InnerUpdateCut] = field(default_factory=dict)
    unsure: bool = False
    passes: set[int] = field(default_factory=set)
    remade: dict[int, tuple[ParameterOfResult, set[int]]] = field(default_factory=dict)


def judge(m: Interpreter, s: State, p: BackwardPass) -> tuple[tuple[GraphBreak, ...], tuple[GraphBreak, ...]]:
    """The breaks and the constant terms of a backward; remembers the parameters that it did not reach."""
    ledger = m.ledger
    judge_parameters(m, p)
    reached = {leaf.id for leaf in p.leaves}
    if p.inputs is not None:
        return (), ()
    terms = {id(loose) for loose in _terms(s, p)}
    breaks: dict[int, GraphBreak] = {}
    constants: dict[int, GraphBreak] = {}
    for ref in p.ran:
        for loose in s[ref].constant_inputs:
            for cut in loose.severed:
                missed = [] if p.opaque else _missed(s, cut, reached | ledger.following)
                if cut.kind == "sample":
                    note_sample(m, s, cut, missed, _is_latent(s, p, s[ref]))
                    continue
                _remember(s, ledger, cut, missed)
                _note_use(s, ledger, p, cut, bool(missed))
                is_term = id(loose) in terms
                if (cut.kind == "retensor" and (missed or is_term)) or (
                    cut.kind == "create-graph" and is_term
                ):
                    breaks.setdefault(id(cut), _break(cut))
                elif is_term and cut.kind != "retensor" and (missed or _is_unasked(cut, loose, s[ref])):
                    name = str(loose.name) or str(cut.call)
                    constants.setdefault(id(loose), replace(_break(cut), tensor=name))
    return tuple(breaks.values()), tuple(constants.values())


def note_parameter(m: Interpreter, s: State, made: Ref, source: Ref, site: Any) -> None:
    """A Parameter has been made of a result: it matters to the leaves behind that which the program holds."""
    behind = {leaf.id for leaf in leaves(s, [s[source].grad_fn])} & _held(s)
    if behind:
        event = ParameterOfResult(site=site, tensor=str(s[source].name))
        m.ledger.remade[made.id] = event, behind


def note_loaded(m: Interpreter, s: State, parameters: Iterable[Ref], table: Value) -> None:
    """Parameters have got values from a table: do they follow others of the program, or a checkpoint?"""
    given = s.get(table, Dict)
    if given is not None and any(s.get(value, Tensor) is not None for value in given.items.values()):
        m.ledger.following.update(ref.id for ref in parameters)


def judge_parameters(m: Interpreter, p: BackwardPass) -> None:
    """Tell of Parameters made of results where a gradient ends and reaches what is behind in no other way."""
    reached = {leaf.id for leaf in p.leaves}
    for number in reached & m.ledger.remade.keys():
        event, behind = m.ledger.remade[number]
        if not p.opaque and not reached & behind:
            m.emit(event)


def _held(s: State) -> set[int]:
    """What the variables of the program lead to."""
    frames = [s[ref] for ref in s.frames]
    variables = [frame.locals for frame in frames] + [s[frame.env.globals].locals for frame in frames]
    named = (value for names in variables for name, value in names.items() if isinstance(name, str))
    return {ref.id for ref in reachable(s, named)}


def _is_unasked(cut: GraphCut, loose: ConstantInput, node: Node) -> bool:
    """Is it a constant term that nobody writes on purpose?

    `loss + other.detach()` may be a trick to change a value only, and so is a shift by a statistic of the
    value itself; a term that is computed from many other values that were cut off before is none.
    """
    if cut.kind in ("detach", "data"):
        shifts = set(cut.sources) <= set(node.inputs)
        return numel_is_one(cut.shape) is not True and cut.storage != loose.storage and not shifts
    return cut.kind in UNASKED


def note_pass(m: Interpreter, p: BackwardPass) -> None:
    """Remember which leaves a pass has reached, and whether it went on where the model cannot see."""
    m.ledger.fed |= {leaf.id for leaf in p.leaves}
    m.ledger.unsure = m.ledger.unsure or p.opaque
    m.ledger.passes.add(id(p.site.node))


def _break(cut: GraphCut) -> GraphBreak:
    return GraphBreak(cut.kind, str(cut.tensor), str(cut.call), cut.site)


def _missed(s: State, cut: GraphCut, reached: set[int]) -> list[Ref]:
    """The leaves behind a cut that are not among those that the backward reached."""
    return [leaf for leaf in leaves(s, cut.sources) if leaf.id not in reached]


def leaves(s: State, sources: Iterable[Any]) -> Iterator[Ref]:
    """The leaves that what was computed from the sources would have sent gradients to."""
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
        elif isinstance(record, Tensor) and record.requires_grad and not record.is_summary:
            yield at


def _remember(s: State, ledger: Ledger, cut: GraphCut, missed: list[Ref]) -> None:
    for leaf in missed:
        tensor: Tensor = s[leaf]
        if tensor.is_param:
            size = math.prod(n or 1 for n in cut.shape or ())
            places = ledger.starving.setdefault(leaf.id, {})
            places[id(cut.site.node)] = size, replace(_break(cut), tensor=str(tensor.name))


def _note_use(s: State, ledger: Ledger, p: BackwardPass, cut: GraphCut, misses: bool) -> None:
    """What is cut off here is used by a backward: is it for the second time, or of several origins?

    A value that several backward calls use has to be cut off, because the first one frees its graph. So has
    a state that goes on from window to window of a sequence; the first window then cuts off what made it.
    """
    place = id(cut.site.node)
    if not misses and not p.opaque:
        ledger.harmless.add(place)
    mark = Symbol(("cut-used", id(cut)))
    if s.memory.setdefault(mark, Const(id(p))) != Const(id(p)):
        ledger.shared.add(place)
    ledger.kept.append((cut, p))


def _is_boundary(ledger: Ledger, cut: GraphBreak) -> bool:
    place = id(cut.site.node)
    return place in ledger.shared or (cut.kind in ("detach", "data") and place in ledger.harmless)


def _terms(s: State, p: BackwardPass) -> list[ConstantInput]:
    """The constant operands of the sums that a root ends in, scaled by numbers or not."""
    found: list[ConstantInput] = []
    todo: list[Any] = [s[root].grad_fn for root in p.roots if numel_is_one(s[root].shape) is not False]
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


def carrier(s: State, p: BackwardPass) -> str:
    """The text of what brings a graph that was freed into one that was not; empty where nothing does."""
    for ref in p.ran:
        node: Node = s[ref]
        if node.freed:
            continue
        for at in node.inputs:
            older = s.get(at, Node)
            if older is not None and older.freed:
                names = [str(t.name) for _, t in s.records(Tensor) if t.grad_fn == at and t.name]
                return names[0] if names else ""
    return ""


def zero_gradient(s: State, p: BackwardPass, ledger: Ledger) -> ZeroGradient | None:
    """The event for a backward some of whose gradients all pass an operation with derivative zero."""
    if p.inputs is not None or not p.leaves:
        return None
    passed, reached = _without_zeros(s, p)
    ledger.moved |= reached
    lost = [ref for ref in p.leaves if ref.id not in reached]
    if passed is None or p.opaque or not lost:
        return None
    made = StoryStep(passed.site, f"`{passed.text}` has derivative zero everywhere")
    root, leaf = str(s[p.roots[0]].name), str(s[lost[0]].name)
    everything = len(lost) == len(p.leaves)
    event = ZeroGradient(
        site=p.site, story=(made,), root=root, op=str(passed.text), tensor=leaf, all_of_them=everything
    )
    if everything:
        return event
    for ref in lost:
        if s[ref].is_param:
            ledger.stuck.setdefault(ref.id, replace(event, site=passed.site, tensor=str(s[ref].name)))
    return None


def _without_zeros(s: State, p: BackwardPass) -> tuple[Node | None, set[int]]:
    """A node with derivative zero on a way down from the roots, and what is reached without passing one."""
    passed: Node | None = None
    todo: list[Any] = [s[root].grad_fn for root in p.roots]
    seen: set[int] = set()
    while todo:
        at = todo.pop()
        if not isinstance(at, Ref) or at.id in seen:
            continue
        node = s.get(at, Node)
        if node is not None and node.function == NONE and _base_name(node.op) in ZERO:
            passed = node
            continue
        seen.add(at.id)
        if node is not None:
            todo.extend(node.inputs)
    return passed, seen


def _base_name(op: str) -> str:
    return op.partition("Backward")[0].lower().rstrip("_")


def note_sample(m: Interpreter, s: State, cut: GraphCut, missed: list[Ref], is_latent: bool) -> None:
    """Remember a sample that a root got while the distribution's parameters got no gradient through it."""
    event = NonReparametrised(site=cut.site, distribution=str(cut.tensor), call=str(cut.call))
    m.ledger.samples.setdefault(id(cut.site.node), (event, set()))[1].update(leaf.id for leaf in missed)
    if is_latent and not missed:
        m.suspicions.hold(("latent", id(cut.site.node)), event)


def _is_latent(s: State, p: BackwardPass, user: Node) -> bool:
    """Does a layer go on from the sample, in a root that has no likelihood of a sample?

    Such a root trains the distribution by something else alone, as a divergence in an evidence lower bound.
    With a likelihood it may be a score function estimate.
    """
    return user.op in LAYERS and all(s[ref].op != "LogProbBackward0" for ref in p.ran)


def note_step(m: Interpreter, s: State, event: OptimizerStep, params: Iterable[Ref]) -> None:
    """Remember parameters that an optimizer steps although they are cut off from what was back-propagated."""
    ledger = m.ledger
    for ref in params:
        if (
            ref.id in ledger.starving
            and s[ref].requires_grad
            and s[ref].grad_state in ("none", "zeroed")
            and ref.id not in ledger.starved
        ):
            ledger.starved[ref.id] = replace(event, gradients=frozenset({"unknown"}))


def report(m: Interpreter) -> None:
    """Report the starved parameters that no gradient has reached on any path."""
    if m.ledger.unsure or (m.exhausted and not _all_ran(m)):
        return
    for sampled, leaves in m.ledger.samples.values():
        if leaves and not leaves & m.ledger.fed:
            m.emit(sampled)
    for number, event in m.ledger.starved.items():
        cut = _culprit(m.ledger, number)
        if number not in m.ledger.fed and cut is not None:
            m.emit(replace(event, starved=(cut,)))
    stuck = {id(e.site.node): e for number, e in m.ledger.stuck.items() if number not in m.ledger.moved}
    for zero in stuck.values():
        m.emit(zero)


def _culprit(ledger: Ledger, parameter: int) -> GraphBreak | None:
    """The place that cuts a parameter off: rather one that cuts nothing trained, and many values."""
    trained = {place for number in ledger.starving.keys() & ledger.fed for place in ledger.starving[number]}
    places = ledger.starving[parameter].items()
    cuts = [(place not in trained, size, cut) for place, (size, cut) in places]
    cuts = [entry for entry in cuts if not _is_boundary(ledger, entry[2])]
    return max(cuts, key=lambda entry: entry[:2])[2] if cuts else None


def _all_ran(m: Interpreter) -> bool:
    """Has every backward that the file's text calls been run at least once?"""
    functions = [m.main.body, *m.main.functions] if m.main is not None else []
    for f in functions:
        instrs = [i for block in f.blocks.values() for i in block.instrs]
        names = {
            i.dst
            for i in instrs
            if isinstance(i, ir.GetAttr) and i.name in ("backward", "grad", "manual_backward")
        }
        if any(
            isinstance(i, ir.Call) and i.func in names and id(i.node) not in m.ledger.passes for i in instrs
        ):
            return False
    return True
