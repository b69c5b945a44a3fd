"""Backward passes: which nodes run, what raises, which leaves receive a gradient.

Order of work is the engine's: nodes run from the youngest to the oldest, each first unpacks what it
saved (freed? changed since?), then passes gradients on. autograd.grad runs only nodes that lie on
the way to its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    FreedGraph,
    InvalidTensorUse,
    NoGraph,
    NonScalarRoot,
    SavedTensorModified,
    StoryStep,
    UnusedInput,
    UnversionedWrite,
)
from gradcheck_tool.domain.graph import Node, SavedTensor, SavingHooks, Storage, Tensor
from gradcheck_tool.domain.shapes import size_text
from gradcheck_tool.domain.values import ELSEWHERE, NONE, Ref, Symbol, Text, Value, fresh
from gradcheck_tool.engine.cuts import why_constant
from gradcheck_tool.engine.earlier import kept_as, may_be_replaced
from gradcheck_tool.engine.edges import edge, refresh_view
from gradcheck_tool.engine.errors import (
    DETACHED,
    MODIFIED,
    NO_GRAPH_AT,
    NON_SCALAR,
    NOT_REAL,
    NOT_REQUIRED,
    REENTRANT,
    TWICE,
    Raised,
    called,
    story,
    with_gaps,
)
from gradcheck_tool.engine.tensors import TAKEN_FOR_CONSTANT, numel_is_one, sizes_differ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State


# Operations whose result has at least as many elements as each operand.
_BROADCASTS = frozenset(
    {"+", "-", "*", "/", "AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "NegBackward0"}
)

# How the node of a gradient that has a graph of its own (create_graph) is called after the operation's.
DERIVATIVE = "Backward"


@dataclass(slots=True)
class BackwardPass:
    """One backward pass: what was asked, and what came of it.

    `roots` are the differentiated tensors, `given` tells which of them got a gradient argument.
    `inputs` is None for a plain backward. `leaves` are the leaf tensors that receive a gradient, `refusing`
    those that are reached and take none, since they were frozen or detached in place after they were used;
    `ran` are the nodes, `opaque` tells whether the graph continues where the model cannot see, and
    `is_astray` whether it may do so to anything, and not only into modules of which the role is known and
    behind what the program is given.
    `flows` maps an edge to the edges of its gradient's own history (create_graph). `is_mended`: nothing is
    raised, as if what the engine refuses had been mended.
    """

    roots: Sequence[Ref]
    given: Sequence[bool]
    retain: bool | None
    create: bool | None
    site: Any
    text: Text
    call: str = "backward"
    inputs: Sequence[Ref] | None = None
    cotangents: Sequence[Value] = ()
    leaves: list[Ref] = field(default_factory=list)
    refusing: list[Ref] = field(default_factory=list)
    ran: list[Ref] = field(default_factory=list)
    opaque: bool = False
    is_astray: bool = False
    silent: list[UnversionedWrite] = field(default_factory=list)
    flows: dict[Ref, tuple[Value, ...]] = field(default_factory=dict)
    is_mended: bool = False


def run_backward(s: State, p: BackwardPass) -> None:
    """Execute a backward pass on the state, without touching `.grad`.

    Raises:
        Raised: where the engine would.
    """
    _check_roots(s, p)
    needed = _reachable(s, p)
    if p.inputs is not None:
        needed = _towards(s, p, needed)
    for index, root in enumerate(p.roots):
        start = edge(s, root)
        if isinstance(start, Ref):
            cotangent = p.cotangents[index] if index < len(p.cotangents) else NONE
            history = edge(s, cotangent) if isinstance(cotangent, Ref) and s.get(cotangent, Tensor) else NONE
            _flow(p, start, () if history == NONE else (history,))
    for ref in sorted((Ref(n) for n in needed), key=lambda r: -r.id):
        record = s[ref]
        if isinstance(record, Tensor):
            (p.refusing if record.requires_grad is False else p.leaves).append(ref)
        elif p.inputs is None or any(isinstance(e, Ref) and e.id in needed for e in record.inputs):
            _run_node(s, p, ref, record)
    if p.retain is not True:
        now = fresh()
        for ref in p.ran:
            node = s.edit(ref)
            if p.retain is None:
                node.unsure_freed = True
            elif not node.freed:
                node.freed, node.freed_at, node.freed_site, node.freed_text = True, now, p.site, p.text


def _check_roots(s: State, p: BackwardPass) -> None:
    """What the engine asks of the differentiated tensors: to be single numbers, then to have a history.

    Raises:
        Raised: for the first that does not have what it needs.
    """
    for root in p.roots:
        refresh_view(s, root, in_any_mode=True)
    histories = [edge(s, root) for root in p.roots]
    for index, (root, given) in enumerate(zip(p.roots, p.given, strict=True)):
        tensor: Tensor = s[root]
        if given and index < len(p.cotangents) and not p.is_mended:
            _check_cotangent(s, p, index, tensor)
        several = numel_is_one(tensor.shape) is False
        if p.is_mended:
            continue
        if not given and tensor.requires_grad and (several or tensor.dtype == "complex"):
            raise Raised(
                NonScalarRoot(
                    site=p.site,
                    story=_made(tensor),
                    text=NON_SCALAR if several else NOT_REAL,
                    root=called(s, root),
                    call=str(p.call),
                    is_complex=not several,
                )
            )
        if not given and tensor.requires_grad:
            _are_numbers(s, root)
    for index, (root, history) in enumerate(zip(p.roots, histories, strict=True)):
        tensor = s[root]
        if history == NONE and not tensor.unsure_graph:
            kept = kept_as(s, root)
            if p.is_mended or any(may_be_replaced(s, *each) for each in kept):
                mine = s.edit(root)
                mine.requires_grad, mine.leaf, mine.unsure_graph = None, None, True
                continue
            raise Raised(
                NoGraph(
                    site=p.site,
                    unless=tuple((cls.name, name) for cls, name in kept),
                    story=tensor.detached_story or _made(tensor),
                    text=NO_GRAPH_AT.format(index),
                    root=called(s, root),
                    reason=why_constant(s, root),
                    call=str(p.call),
                )
            )


def _are_numbers(s: State, root: Ref) -> None:
    """What goes on from here is a single number, whatever has computed it; so are its terms and factors."""
    if numel_is_one(s[root].shape):
        return
    nodes: set[Value] = set()
    todo: list[Value] = [s[root].grad_fn]
    while todo:
        at = todo.pop()
        node = s.get(at, Node)
        if node is not None and at not in nodes:
            nodes.add(at)
            todo.extend(node.inputs if node.op in _BROADCASTS else ())
    for ref, tensor in s.records(Tensor):
        if ref == root or (tensor.grad_fn in nodes and numel_is_one(tensor.shape) is None):
            s.edit(ref).shape = tuple(1 for _ in tensor.shape or ())


def _check_cotangent(s: State, p: BackwardPass, index: int, root: Tensor) -> None:
    """A gradient argument has exactly the shape of what is differentiated.

    Raises:
        Raised: where it has certainly another.
    """
    given = s.get(p.cotangents[index], Tensor)
    if given is None or not sizes_differ(given.shape, root.shape):
        return
    sizes = size_text(given.shape), size_text(root.shape)
    text = (
        "Mismatch in shape: grad_output[{0}] has a shape of torch.Size({1}) and "
        "output[{0}] has a shape of torch.Size({2})."
    )
    raise Raised(
        InvalidTensorUse(
            site=p.site,
            story=(*_made(root), *_made(given)),
            text=with_gaps(text.format(index, *sizes)),
            kind="grad-size",
            tensor=called(s, p.roots[index]),
            call=str(p.text),
            sizes=sizes,
        )
    )


def _made(tensor: Tensor) -> tuple[StoryStep, ...]:
    return (
        (story(tensor.site, f"`{tensor.name}` is made here", "made", tensor),)
        if tensor.site is not None
        else ()
    )


def _reachable(s: State, p: BackwardPass) -> set[int]:
    """Ids of nodes and leaves that the roots' gradients can reach."""
    seen: set[int] = set()
    todo: list[Value] = [edge(s, root) for root in p.roots]
    while todo:
        at = todo.pop()
        if isinstance(at, Symbol):
            p.opaque, p.is_astray = True, p.is_astray or at.kind != ELSEWHERE
        if not isinstance(at, Ref) or at.id in seen:
            continue
        seen.add(at.id)
        record = s[at]
        if isinstance(record, Node):
            todo.extend(record.inputs)
    return seen


def _towards(s: State, p: BackwardPass, seen: set[int]) -> set[int]:
    """The part of the graph that lies on the way to the inputs.

    Raises:
        Raised: where an input requires no grad. (Unused ones are found by `input_history`.)
    """
    goals = set()
    # Where nothing else shows that there is a graph, what is asked for does.
    has_graph = all(s[root].requires_grad is True for root in p.roots)
    for ref in p.inputs or ():
        tensor: Tensor = s[ref]
        is_guess = tensor.unsure_graph and not has_graph
        if (
            tensor.requires_grad is False
            and not (is_guess or p.is_mended)
            and Symbol((TAKEN_FOR_CONSTANT, ref)) not in s.memory
        ):
            raise Raised(
                UnusedInput(
                    site=p.site,
                    story=_made(tensor),
                    text=NOT_REQUIRED,
                    input=str(tensor.name),
                    root=called(s, p.roots[0]) if p.roots else "",
                    reason="no-grad",
                )
            )
        at = edge(s, ref)
        if isinstance(at, Ref):
            goals.add(at.id)
    needed = set(goals & seen)
    for number in sorted(seen):
        record = s.heap[number]
        if isinstance(record, Node) and any(isinstance(e, Ref) and e.id in needed for e in record.inputs):
            needed.add(number)
    return needed


def _run_node(s: State, p: BackwardPass, ref: Ref, node: Node) -> None:
    p.ran.append(ref)
    if not p.is_mended:
        _check_node(s, p, node)
    if p.create is not False and not node.reentrant:
        _double(s, p, ref, node)


def _check_node(s: State, p: BackwardPass, node: Node) -> None:
    """Has a node what it needs? What has changed unseen is noted.

    Raises:
        Raised: where it has not.
    """
    if node.freed and node.frees and not node.unsure_freed:
        raise Raised(_freed(s, p, node))
    if node.broken:
        raise Raised(_broken(p, node))
    if node.reentrant and p.inputs is not None:
        raise Raised(_refused(p, node.site, "this checkpoint is reentrant", REENTRANT, "reentrant-inputs"))
    hooks = s.get(node.saving_hooks, SavingHooks)
    if hooks is not None and hooks.on_read:
        raise Raised(_refused(p, hooks.site, "its hooks keep what is saved", hooks.on_read, "unpack-hook"))
    for slot in node.saved_tensors:
        storage: Storage = s[slot.storage]
        if storage.unsure:
            continue
        holder: Tensor | None = s[slot.holder] if slot.holder is not None else None
        if holder is not None and holder.leaf and s.get(slot.edge, Node) is not None and not slot.unchecked:
            why = f"`{node.text}` saves `{slot.text}` here, which `detach_()` has cut off since"
            raise Raised(_refused(p, slot.site, why, DETACHED, "saved-detached", slot.text))
        if storage.version_of(slot.version_counter) != slot.version and not slot.unchecked:
            raise Raised(_modified(s, p, node, slot, storage))
        if storage.data != slot.data:
            p.silent.append(_unversioned(p, node, slot, storage.site, storage.how))
        elif holder is not None and holder.memory != slot.memory:
            p.silent.append(_unversioned(p, node, slot, *holder.data_replaced))


def _broken(p: BackwardPass, node: Node) -> InvalidTensorUse:
    made = story(node.site, f"`{node.text}` has no derivative", "made")
    return InvalidTensorUse(
        site=p.site,
        story=(made,),
        text=node.broken,
        kind="not-implemented",
        tensor=str(node.text),
        call=str(p.text),
    )


def _refused(
    p: BackwardPass, site: Any, why: str, text: str, kind: str, tensor: Text = ""
) -> InvalidTensorUse:
    """The error of a pass that what was recorded elsewhere (`site`) does not allow."""
    return InvalidTensorUse(
        site=p.site, story=(story(site, why),), text=text, kind=kind, tensor=str(tensor), call=str(p.text)
    )


def _double(s: State, p: BackwardPass, ref: Ref, node: Node) -> None:
    """Record how the gradients that this node passes on depend on what has a graph itself."""
    incoming = p.flows.get(ref, ())
    for index, target in enumerate(node.inputs):
        if not isinstance(target, Ref):
            continue
        roles = node.needs[index] if node.needs is not None and index < len(node.needs) else ()
        slots = [slot for slot in node.saved_tensors if slot.role in roles]
        seen = [slot.edge for slot in slots if slot.edge != NONE]
        # What hooks give back for what they were given may depend on anything, and so may a result that is
        # kept inside of the call, as the reciprocal in `1 / x` is, where nothing else is kept for it.
        inside = "out" in roles and not seen and all(slot.role != "out" for slot in node.saved_tensors)
        # The derivative of a derivative may be the last that depends on anything, as that of a square is.
        is_last = bool(roles) and node.op.endswith(DERIVATIVE)
        if node.needs is None or inside or is_last or (roles and node.saving_hooks != NONE):
            _flow(p, target, (Symbol(("double", ref.id)),))
            continue
        history = [*incoming, *seen]
        if not history:
            continue
        grad = Node(f"{node.op}{DERIVATIVE}", node.text, node.site)
        grad.inputs = tuple(history)
        grad.saved_tensors = tuple(slots)
        grad.frees = bool(slots) or node.frees
        grad.needs = tuple(roles for _ in history)
        _flow(p, target, (s.new(grad),))


def _flow(p: BackwardPass, target: Ref, history: tuple[Value, ...]) -> None:
    p.flows[target] = (*p.flows.get(target, ()), *history)


def _freed(s: State, p: BackwardPass, node: Node) -> FreedGraph:
    steps = [
        story(node.site, f"`{node.text}` saves what its backward needs here", "saved"),
        story(node.freed_site, f"`{node.freed_text}` frees it here", "freed"),
    ]
    if node.freed_site is not None and node.freed_site.node is p.site.node:
        steps.append(story(p.site, "PyTorch raises when it runs here again", "raised"))
    return FreedGraph(
        site=p.site,
        story=tuple(steps),
        text=TWICE,
        root=called(s, p.roots[0]),
        op=str(node.text),
        freed_by=str(node.freed_text),
        cause="",
    )


def _modified(
    s: State, p: BackwardPass, node: Node, slot: SavedTensor, storage: Storage
) -> SavedTensorModified:
    result = slot.role.startswith("out")
    saved = f"`{node.text}` saves its result here" if result else f"`{node.text}` saves `{slot.text}` here"
    text = node.text if result else slot.text
    now = storage.version_of(slot.version_counter)
    steps = (
        StoryStep(slot.site, saved, "saved", text, slot.storage, slot.version),
        StoryStep(storage.site, f"`{storage.how}` changes it here", "changed", text, slot.storage, now),
    )
    return SavedTensorModified(
        site=p.site,
        story=steps,
        text=MODIFIED,
        root=called(s, p.roots[0]),
        tensor=str(slot.text),
        op=str(node.text),
        writer=storage.writer,
        write=str(storage.how),
    )


# What a node does with a value, how it is changed, and what the pass does then, by why nobody checks it.
_UNSEEN = {
    "": ("saves", "unseen by autograd", "uses"),
    "recomputed": ("computes with", "before it is computed with again", "computes again with"),
    "on-ctx": ("keeps", "where no version is asked for", "uses"),
}


def _unversioned(p: BackwardPass, node: Node, slot: SavedTensor, site: Any, how: Text) -> UnversionedWrite:
    saves, unseen, uses = _UNSEEN[slot.unchecked]
    steps = (
        StoryStep(
            slot.site,
            f"`{node.text}` {saves} `{slot.text}` here",
            "saved",
            slot.text,
            slot.storage,
            slot.version,
        ),
        StoryStep(site, f"`{how}` changes it here, {unseen}", "changed", slot.text, slot.storage),
        story(p.site, f"`{p.text}` {uses} the changed value here", "backward"),
    )
    return UnversionedWrite(
        site=site,
        story=steps,
        tensor=str(slot.text),
        op=str(node.text),
        how=str(how),
        unchecked=slot.unchecked,
    )
