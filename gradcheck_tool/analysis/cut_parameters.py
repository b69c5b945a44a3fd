"""Parameters of a module that what its forward returns is computed from, and that get no gradient from it.

In ordinary use the result of a forward is differentiated, and this is how the parameters of the module are
trained. Those that are there only as constants (`.data`, `.item()`, a comparison, `argmax`) stay as they are,
as long as nothing else in sight uses them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gradcheck_tool.analysis.evidence import methods_of
from gradcheck_tool.analysis.ordinary_use import roots_in, tensors_in
from gradcheck_tool.domain.graph import GraphCut, Node, Tensor
from gradcheck_tool.domain.records import Class, Instance
from gradcheck_tool.domain.values import Ref
from gradcheck_tool.engine.cuts import doubtful_cuts, has_zero_derivative
from gradcheck_tool.interp.havoc import reachable
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.module_tree import modules
from gradcheck_tool.library.torch.shown_modules import shown_as
from gradcheck_tool.trackers.events import GraphBreak, ParameterCutOff
from gradcheck_tool.trackers.gradient_reach import leaves_behind
from gradcheck_tool.triage.running import without_prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import FrameExit, Interpreter

# Cuts that nobody makes on purpose to keep a layer as it is; the others do, where it is not a Parameter that
# the module itself has made.
_UNMEANT = frozenset({"item", "numpy", "retensor", "non-differentiable", "zero-derivative"})
# Methods that give parameters their first values, or print them.
_INITIAL = re.compile(r"__init__|.*(?:init|reset|extra_repr|fill|register).*")
# What gives parameters their first values from outside of their module.
_FIRST_VALUE = (
    r"\binit\.\w+\([\w.]*\.{name}\b|\.{name}(?:\.data)?\.(?:\w+_\(|requires_grad\b)|\.{name}\.shape\b"
)


class _Owned(NamedTuple):
    """A parameter of a module: the attribute of the module that leads to it, or that is it (`is_direct`)."""

    ref: Ref
    attribute: str
    path: str
    is_direct: bool


def note(m: Interpreter, s: State, receiver: Value | None, ends: Iterable[FrameExit], name: str) -> None:
    """Note which parameters a forward cuts off from what it returns, and which a pass would reach.

    Args:
        m: the interpreter.
        s: the state before the forward.
        receiver: the module.
        ends: the ways in which it returns.
        name: the forward, in the user's words.
    """
    owner = s.get(receiver, Instance)
    if not isinstance(receiver, Ref) or owner is None or s.get(owner.cls, Class) is None:
        return
    if shown_as(s, owner.cls):  # Its base, which is out of sight, may use them.
        return
    if "#pre_hooks" in owner.attrs:  # A call of the module runs these first: what forward reads is theirs.
        return
    owned = {each.ref.id: each for each in _owned(s, receiver)}
    for end in ends:
        after = end.state
        roots = roots_in(after, end.value)
        nodes, leaves, zeros = _behind(after, roots)
        kept = _kept(after, receiver)
        for leaf in (*leaves, *leaves_behind(after, kept)):
            m.program.reached.add(_place(after, leaf))
        # What only decides, and gives no other gradient, may be meant for its decisions.
        for cut in (*_cuts(after, nodes, end.value), *(zeros if leaves else ())):
            for leaf in leaves_behind(after, cut.sources):
                one = owned.get(leaf.id)
                if one is None:
                    continue
                beside = [each for each in owned.values() if each.attribute == one.attribute]
                if all(_is_alone(s, after, each, cut) for each in beside):
                    _report(m, after, owner, beside, cut, name)


def _owned(s: State, receiver: Ref) -> Iterator[_Owned]:
    for path, at in modules(s, receiver):
        for name, value in s[at].attrs.items():
            tensor = s.get(value, Tensor)
            if tensor is not None and tensor.is_param and tensor.requires_grad and not tensor.is_summary:
                whole = f"{path}.{name}" if path else name
                yield _Owned(value, whole.partition(".")[0], whole, not path)


def _behind(s: State, roots: Iterable[Ref]) -> tuple[list[Node], list[Ref], list[GraphCut]]:
    """The nodes and the leaves that gradients of the roots go to, and what lets only zeros pass."""
    nodes: list[Node] = []
    leaves: list[Ref] = []
    zeros: list[GraphCut] = []
    seen: set[int] = set()
    todo: list[Value | None] = [s[root].grad_fn for root in roots]
    while todo:
        at = todo.pop()
        if not isinstance(at, Ref) or at.id in seen:
            continue
        seen.add(at.id)
        record = s.heap.get(at.id)
        if isinstance(record, Node):
            nodes.append(record)
            if has_zero_derivative(record):
                zeros.append(GraphCut("zero-derivative", "", record.text, record.site, record.inputs))
            else:
                todo += record.inputs
        elif isinstance(record, Tensor):
            leaves.append(at)
    return nodes, leaves, zeros


def _kept(s: State, receiver: Ref) -> list[Ref]:
    """What the module keeps that has a graph: others may differentiate it."""
    held = (ref for ref in reachable(s, [receiver]) if s.get(ref, Tensor) is not None)
    return [s[ref].grad_fn for ref in held if s[ref].grad_fn is not None]


def _cuts(s: State, nodes: Iterable[Node], value: Value) -> list[GraphCut]:
    """What the constant inputs of nodes were cut off from, and results that have a graph if the input has."""
    found = [cut for node in nodes for constant in node.constant_inputs for cut in constant.severed]
    found += [cut for node in nodes for cut in node.doubtful_cuts]
    found += doubtful_cuts(s, tensors_in(s, value))
    return list(dict.fromkeys(cut for cut in found if cut.kind not in ("sample", "create-graph")))


def _place(s: State, leaf: Ref) -> int:
    """What tells parameters apart, in all states and for all objects of a class."""
    return id(s[leaf].site.node) if s[leaf].site is not None else leaf.id


def _is_alone(s: State, after: State, one: _Owned, cut: GraphCut) -> bool:
    """Is the cut all that is done with a parameter: no write, and nothing that is out of sight?"""
    before, tensor = s[one.ref], after[one.ref]
    is_same = tensor.requires_grad and tensor.grad_state == before.grad_state == "none"
    memory, earlier = after[tensor.storage], s[before.storage]
    is_written = memory.unsure or memory.data != earlier.data or tensor.storage != before.storage
    return bool(is_same) and not is_written and (one.is_direct or cut.kind in _UNMEANT)


def _report(m: Interpreter, s: State, owner: Instance, owned: list[_Owned], cut: GraphCut, name: str) -> None:
    one = owned[0]
    record: Class = s[owner.cls]  # type: ignore[index]
    names = _only_in_forward(s, owner.cls, one.attribute, record.env.module.source)  # type: ignore[arg-type]
    if names is None:
        return
    event = ParameterCutOff(
        site=cut.site,
        module=record.name,
        parameter=f"self.{one.attribute}",
        is_layer=not one.is_direct,
        cut=GraphBreak.of(cut),
        places=frozenset(_place(s, each.ref) for each in owned),
        assumes=(f"the result of `{name}` is differentiated", *m.program.assumes),
        unit=name,
        unless=tuple((record.name, each) for each in names),
    )
    m.program.ordinary.append(event)


def _only_in_forward(s: State, cls: Ref, attribute: str, source: str) -> list[str] | None:
    """Names under which others could use a parameter, where only what `forward` calls does; else None."""
    family = [cls, *(ref for ref, record in s.records(Class) if cls in record.mro and ref != cls)]
    methods = [method for each in family for method in methods_of(s, each)]
    reading = [f for f in methods if attribute in _attributes(f) and _INITIAL.fullmatch(f.name) is None]
    called = _called(methods)
    if any(f.name not in called for f in reading):
        return None
    names = [attribute, *(f.name for f in reading if f.name != "forward")]
    outside = [f.name for f in methods if f.name not in called and _INITIAL.fullmatch(f.name) is None]
    code = without_prose(source)
    mentioned = {n for f in methods if f.name in outside for n in _attributes(f)}
    if mentioned.intersection(names) or any(_is_named(code, each) for each in names):
        return None
    return names


def _called(methods: list[ir.Function]) -> set[str]:
    """The methods that `forward` calls, and those call, by name."""
    called = {"forward"}
    while True:
        more = {n for f in methods if f.name in called for n in _attributes(f)}
        grown = called | {f.name for f in methods if f.name in more}
        if grown == called:
            return called
        called = grown


def _attributes(function: ir.Function) -> set[str]:
    return {i.name for i in function.instructions() if isinstance(i, (ir.GetAttr, ir.SetAttr))}


def _is_named(code: str, name: str) -> bool:
    """Does code name an attribute of anything but `self`, other than to initialise it?"""
    name = re.escape(name)
    code = re.sub(_FIRST_VALUE.format(name=name), "", code)
    return re.search(rf"(?<!\bself)(?<!\btorch)(?<!\bF)\.{name}\b", code) is not None
