"""Backward passes: which nodes run, what raises, which leaves receive a gradient.

Order of work is the engine's: nodes run from the youngest to the oldest, each first unpacks what it
saved (freed? changed since?), then passes gradients on. autograd.grad runs only nodes that lie on
the way to its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import (
    Accumulation,
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
from gradcheck_tool.domain.values import NONE, Ref, Symbol, Text, Value
from gradcheck_tool.engine.operations import (
    INFERENCE_WRITE,
    Raised,
    bump,
    cut_off,
    edge,
    new_tensor,
    numel_is_one,
    refused,
    sizes_differ,
    story,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State

TWICE = "Trying to backward through the graph a second time"
MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"
NO_GRAPH_AT = "element {} of tensors does not require grad and does not have a grad_fn"
NON_SCALAR = "grad can be implicitly created only for scalar outputs"
NOT_REAL = "grad can be implicitly created only for real scalar outputs"
# The state of a `.grad` after one more backward has added to it.
ADDED = {"none": "fresh", "zeroed": "fresh", "fresh": "fresh", "used": "mixed", "mixed": "mixed"}
# Nodes whose gradient is one number, or one row, expanded; nodes that hand on the memory of what they get.
SUMS = {"SumBackward0": "all", "SumBackward1": "some", "sum": "some"}
HANDING_ON = frozenset(
    {
        "CloneBackward0",
        "PermuteBackward0",
        "SqueezeBackward0",
        "TBackward0",
        "TransposeBackward0",
        "UnsqueezeBackward0",
    }
)
UNUSED = "The differentiated Tensor at index {} appears to not have been used in the graph."
REENTRANT = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
    "parameter to .backward()."
)
DETACHED = "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
NOT_REQUIRED = "One of the differentiated Tensors does not require grad"


@dataclass(slots=True)
class Pass:
    """One backward pass: what was asked, and what came of it.

    `roots` are the differentiated tensors, `given` tells which of them got a gradient argument.
    `inputs` is None for a plain backward. `leaves` are the leaf tensors that receive a gradient,
    `ran` the nodes, `opaque` tells whether the graph goes on where the model cannot see.
    `flows` maps an edge to the edges of its gradient's own history (create_graph).
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
    ran: list[Ref] = field(default_factory=list)
    opaque: bool = False
    silent: list[UnversionedWrite] = field(default_factory=list)
    flows: dict[Ref, tuple[Value, ...]] = field(default_factory=dict)


def run(s: State, p: Pass) -> None:
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
            p.leaves.append(ref)
        elif p.inputs is None or any(isinstance(e, Ref) and e.id in needed for e in record.inputs):
            _run_node(s, p, ref, record)
    if p.retain is not True:
        for ref in p.ran:
            node = s.edit(ref)
            if p.retain is None:
                node.unsure_freed = True
            elif not node.freed:
                node.freed, node.freed_site, node.freed_text = True, p.site, p.text


def _check_roots(s: State, p: Pass) -> None:
    """What the engine asks of the differentiated tensors: to be single numbers, then to have a history.

    Raises:
        Raised: for the first that does not have what it needs.
    """
    histories = [edge(s, root) for root in p.roots]
    for index, (root, given) in enumerate(zip(p.roots, p.given, strict=True)):
        tensor: Tensor = s[root]
        if given and index < len(p.cotangents):
            _check_cotangent(s, p, index, tensor)
        several = numel_is_one(tensor.shape) is False
        if not given and tensor.requires_grad and (several or tensor.dtype == "complex"):
            raise Raised(
                NonScalarRoot(
                    site=p.site,
                    story=_made(tensor),
                    text=NON_SCALAR if several else NOT_REAL,
                    root=str(tensor.name),
                    call=str(p.call),
                    is_complex=not several,
                )
            )
    for index, (root, history) in enumerate(zip(p.roots, histories, strict=True)):
        tensor = s[root]
        if history == NONE and not tensor.unsure_graph:
            raise Raised(
                NoGraph(
                    site=p.site,
                    story=tensor.detached_story or _made(tensor),
                    text=NO_GRAPH_AT.format(index),
                    root=str(tensor.name),
                    reason=tensor.detached_because or ("constant" if tensor.leaf else "unknown"),
                    call=str(p.call),
                )
            )


def _check_cotangent(s: State, p: Pass, index: int, root: Tensor) -> None:
    """A gradient argument has exactly the shape of what is differentiated.

    Raises:
        Raised: where it has certainly another.
    """
    given = s.get(p.cotangents[index], Tensor)
    if given is None or not sizes_differ(given.shape, root.shape):
        return
    raise Raised(
        InvalidTensorUse(
            site=p.site,
            story=(*_made(root), *_made(given)),
            text=f"Mismatch in shape: grad_output[{index}] has a shape of",
            kind="grad-size",
            tensor=str(root.name),
            call=str(p.text),
        )
    )


def _made(tensor: Tensor) -> tuple[StoryStep, ...]:
    return (story(tensor.site, f"`{tensor.name}` is made here"),) if tensor.site is not None else ()


def _reachable(s: State, p: Pass) -> set[int]:
    """Ids of nodes and leaves that the roots' gradients can reach."""
    seen: set[int] = set()
    todo: list[Value] = [edge(s, root) for root in p.roots]
    while todo:
        at = todo.pop()
        if isinstance(at, Symbol):
            p.opaque = True
        if not isinstance(at, Ref) or at.id in seen:
            continue
        seen.add(at.id)
        record = s[at]
        if isinstance(record, Node):
            todo.extend(record.inputs)
    return seen


def _towards(s: State, p: Pass, seen: set[int]) -> set[int]:
    """The part of the graph that lies on the way to the inputs.

    Raises:
        Raised: where an input requires no grad. (Unused ones are found by `input_history`.)
    """
    goals = set()
    for ref in p.inputs or ():
        tensor: Tensor = s[ref]
        if tensor.requires_grad is False:
            raise Raised(
                UnusedInput(
                    site=p.site,
                    story=_made(tensor),
                    text=NOT_REQUIRED,
                    input=str(tensor.name),
                    root=str(s[p.roots[0]].name) if p.roots else "",
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


def _run_node(s: State, p: Pass, ref: Ref, node: Node) -> None:
    p.ran.append(ref)
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
        if holder is not None and holder.leaf and s.get(slot.edge, Node) is not None:
            why = f"`{node.text}` saves `{slot.text}` here, which `detach_()` has cut off since"
            raise Raised(_refused(p, slot.site, why, DETACHED, "saved-detached", slot.text))
        if storage.version_of(slot.version_counter) != slot.version and not slot.recomputed:
            raise Raised(_modified(s, p, node, slot, storage))
        if storage.data != slot.data:
            p.silent.append(_unversioned(p, node, slot, storage.site, storage.how))
        elif holder is not None and holder.memory != slot.memory:
            p.silent.append(_unversioned(p, node, slot, *holder.data_replaced))
    if p.create is not False and not node.reentrant:
        _double(s, p, ref, node)


def _broken(p: Pass, node: Node) -> InvalidTensorUse:
    made = story(node.site, f"`{node.text}` has no derivative")
    return InvalidTensorUse(
        site=p.site,
        story=(made,),
        text=node.broken,
        kind="not-implemented",
        tensor=str(node.text),
        call=str(p.text),
    )


def _refused(p: Pass, site: Any, why: str, text: str, kind: str, tensor: Text = "") -> InvalidTensorUse:
    """The error of a pass that what was recorded elsewhere (`site`) does not allow."""
    return InvalidTensorUse(
        site=p.site, story=(story(site, why),), text=text, kind=kind, tensor=str(tensor), call=str(p.text)
    )


def _double(s: State, p: Pass, ref: Ref, node: Node) -> None:
    """Record how the gradients that this node passes on depend on what has a graph itself."""
    incoming = p.flows.get(ref, ())
    for index, target in enumerate(node.inputs):
        if not isinstance(target, Ref):
            continue
        roles = node.needs[index] if node.needs is not None and index < len(node.needs) else ()
        # What hooks give back for what they were given may depend on anything, and so may a result that is
        # kept inside of the call, as the reciprocal in `1 / x` is.
        inside = "out" in roles and all(slot.role != "out" for slot in node.saved_tensors)
        if node.needs is None or inside or (roles and node.saving_hooks != NONE):
            _flow(p, target, (Symbol(("double", ref.id)),))
            continue
        slots = [slot for slot in node.saved_tensors if slot.role in roles]
        history = [*incoming, *(slot.edge for slot in slots if slot.edge != NONE)]
        if not history:
            continue
        grad = Node(f"{node.op}Backward", node.text, node.site)
        grad.inputs = tuple(history)
        grad.saved_tensors = tuple(slots)
        grad.frees = bool(slots) or node.frees
        grad.needs = tuple(roles for _ in history)
        _flow(p, target, (s.new(grad),))


def _flow(p: Pass, target: Ref, history: tuple[Value, ...]) -> None:
    p.flows[target] = (*p.flows.get(target, ()), *history)


def _freed(s: State, p: Pass, node: Node) -> FreedGraph:
    root: Tensor = s[p.roots[0]]
    steps = [
        story(node.site, f"`{node.text}` saves what its backward needs here"),
        story(node.freed_site, f"`{node.freed_text}` frees it here"),
    ]
    if node.freed_site is not None and node.freed_site.node is p.site.node:
        steps.append(story(p.site, "PyTorch raises when it runs here again"))
    return FreedGraph(
        site=p.site,
        story=tuple(steps),
        text=TWICE,
        root=str(root.name),
        op=str(node.text),
        freed_by=str(node.freed_text),
        cause="",
    )


def _modified(s: State, p: Pass, node: Node, slot: SavedTensor, storage: Storage) -> SavedTensorModified:
    result = slot.role.startswith("out")
    saved = f"`{node.text}` saves its result here" if result else f"`{node.text}` saves `{slot.text}` here"
    steps = (story(slot.site, saved), story(storage.site, f"`{storage.how}` changes it here"))
    return SavedTensorModified(
        site=p.site,
        story=steps,
        text=MODIFIED,
        root=str(s[p.roots[0]].name),
        tensor=str(slot.text),
        op=str(node.text),
        writer=storage.writer,
        write=str(storage.how),
    )


def _unversioned(p: Pass, node: Node, slot: SavedTensor, site: Any, how: Text) -> UnversionedWrite:
    saves, unseen, uses = (
        ("computes with", "before it is computed with again", "computes again with")
        if slot.recomputed
        else ("saves", "unseen by autograd", "uses")
    )
    steps = (
        story(slot.site, f"`{node.text}` {saves} `{slot.text}` here"),
        story(site, f"`{how}` changes it here, {unseen}"),
        story(p.site, f"`{p.text}` {uses} the changed value here"),
    )
    return UnversionedWrite(
        site=site,
        story=steps,
        tensor=str(slot.text),
        op=str(node.text),
        how=str(how),
        recomputed=slot.recomputed,
    )


def accumulate(s: State, p: Pass, leaf: Ref) -> Accumulation | None:
    """Add a gradient to the `.grad` of a leaf; what it was added to, if that was not nothing."""
    held = s.get(s[leaf].grad, Tensor)
    if held is not None and p.create is False:
        _add_in_place(s, p, leaf, held)
    tensor = s.edit(leaf)
    before, earlier, step = tensor.grad_state, tensor.backward_site, tensor.step_site
    history = p.flows.get(leaf, ()) if p.create else ()
    if not isinstance(tensor.grad, Ref) or p.create is not False:
        tensor.grad = gradient(s, p, leaf, history)
    tensor.grad_state = ADDED.get(before, "unknown")
    tensor.backward_site = p.site
    if before in ("fresh", "used", "mixed") and earlier is not None:
        return Accumulation(tensor.name, "", before != "fresh", earlier, step, True)
    return None


def _add_in_place(s: State, p: Pass, leaf: Ref, held: Tensor) -> None:
    """Without create_graph a gradient is added to the tensor that `.grad` holds: a write to it.

    Raises:
        Raised: for one that was made in inference mode.
    """
    if held.inference and not s.inference:
        made = f"`{held.name}` was made in inference mode here"
        raise refused(p.site, held, made, INFERENCE_WRITE, "inference-write", str(p.text))
    bump(s, s[leaf].grad, p.site, p.text, "accumulation")


def expanded(s: State, p: Pass, at: Value, shape: tuple[int | None, ...] | None) -> str:
    """How elements of the gradient that arrives at an edge share memory, because it comes of a `sum` alone.

    That is `Tensor.overlaps`. `shape` is that of the gradient: what may have one element shares nothing.
    """
    if not shape or any(size is None or size < 2 for size in shape):
        return ""
    while True:
        users = [ref for ref in p.ran for given in s[ref].inputs if given == at]
        if len(users) != 1:
            return ""
        op = s[users[0]].op
        if op not in HANDING_ON:
            return SUMS.get(op, "")
        at = users[0]


def gradient(s: State, p: Pass, target: Ref, history: tuple[Value, ...]) -> Ref:
    """The tensor that holds the gradient of `target`; with its own graph where it has `history`."""
    like: Tensor = s[target]
    ref = new_tensor(s, p.site, shape=like.shape, name=f"{like.name}.grad" if p.inputs is None else p.text)
    grad = s[ref]
    grad.grads_of = (target,)
    if p.create is True and history:
        node = Node("AddBackward0", p.text, p.site)
        node.inputs = history
        node.needs = tuple(() for _ in history)
        grad.grad_fn, grad.requires_grad, grad.leaf = s.new(node), True, False
        if all(isinstance(h, Symbol) for h in history):
            grad.requires_grad, grad.leaf, grad.unsure_graph = None, None, True
    elif p.create is not True:
        cut_off(s, grad, "create-graph", [target], p.site, p.text)
        grad.detached_because = "create-graph"
        grad.detached_story = (
            story(p.site, f"`{p.text}` is called without create_graph=True, so its result has no graph"),
        )
        if p.create is None:
            grad.requires_grad, grad.leaf, grad.unsure_graph = None, None, True
    return ref


def _may_lead_to(s: State, p: Pass, at: Value, *, borrows: bool) -> bool:
    """May the pass come to an edge? Not to that of a tensor which requires grad for its base alone."""
    if not isinstance(at, Ref):
        return not borrows
    return at in {*p.leaves, *p.ran} or at in p.flows or at.id in _reachable(s, p)


def unused(s: State, p: Pass, target: Ref) -> UnusedInput | None:
    """The error for an input of autograd.grad that the outputs do not depend on, if that is certain."""
    at = edge(s, target)
    tensor: Tensor = s[target]
    if p.opaque or _may_lead_to(s, p, at, borrows=tensor.grad_via_base and tensor.requires_grad is True):
        return None
    return UnusedInput(
        site=p.site,
        story=_made(tensor),
        text=UNUSED.format(list(p.inputs or ()).index(target)),
        input=str(tensor.name),
        root=str(s[p.roots[0]].name),
        reason="unused",
    )
