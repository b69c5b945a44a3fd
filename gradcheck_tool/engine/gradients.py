"""What a backward pass leaves behind: gradients of leaves, results of `autograd.grad`, unused inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import UnusedInput
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import Ref, Symbol, Value
from gradcheck_tool.engine.backward import BackwardPass, _made, _reachable
from gradcheck_tool.engine.cuts import cut_off
from gradcheck_tool.engine.edges import edge
from gradcheck_tool.engine.errors import INFERENCE_WRITE, UNUSED, called, refused, story
from gradcheck_tool.engine.expected import added_to
from gradcheck_tool.engine.tensors import new_tensor
from gradcheck_tool.engine.writes import bump

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State

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


def accumulate(s: State, p: BackwardPass, leaf: Ref) -> None:
    """Add a gradient to the `.grad` of a leaf."""
    held = s.get(s[leaf].grad, Tensor)
    if held is not None and p.create is False:
        _add_in_place(s, p, leaf, held)
    tensor = s.edit(leaf)
    state = added_to(tensor)
    if not isinstance(tensor.grad, Ref) or p.create is not False:
        tensor.grad = gradient(s, p, leaf, p.flows.get(leaf, ()))
    earlier = tensor.passes if tensor.grad_state in ("fresh", "added", "scaled") else ()
    tensor.passes = (*(site for site in earlier if site != p.site), p.site)
    tensor.grad_state = state
    tensor.backward_site = p.site


def _add_in_place(s: State, p: BackwardPass, leaf: Ref, held: Tensor) -> None:
    """Without create_graph a gradient is added to the tensor that `.grad` holds: a write to it.

    Raises:
        Raised: for one that was made in inference mode.
    """
    if held.inference and not s.inference:
        made = f"`{held.name}` was made in inference mode here"
        raise refused(p.site, held, made, INFERENCE_WRITE, "inference-write", str(p.text))
    bump(s, s[leaf].grad, p.site, p.text, "accumulation")


def expanded(s: State, p: BackwardPass, at: Value, shape: tuple[int | None, ...] | None) -> str:
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


def gradient(s: State, p: BackwardPass, target: Ref, history: tuple[Value, ...]) -> Ref:
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
            grad.leaf, grad.unsure_graph = None, True
            grad.requires_grad = None  # gradlint: ignore[GL324] a tensor of the model: not known
    elif p.create is True and (p.opaque or any(isinstance(given, Symbol) for given in p.cotangents)):
        # What is unknown of the graph may compute with the target, and what is given may have a graph.
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


def _may_lead_to(s: State, p: BackwardPass, at: Value, *, borrows: bool) -> bool:
    """May the pass reach an edge? Not that of a tensor which requires grad for its base alone."""
    if not isinstance(at, Ref):
        return not borrows
    return at in {*p.leaves, *p.ran} or at in p.flows or at.id in _reachable(s, p)


def unused(s: State, p: BackwardPass, target: Ref) -> UnusedInput | None:
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
        root=called(s, p.roots[0]),
        reason="stand-in" if all(s[root].leaf for root in p.roots) else "unused",
    )
