"""What the gradients of a call depend on when they are differentiated again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .run import Run

if TYPE_CHECKING:
    from .run import Call, Mask


def dependencies(call: Call, mask: Mask) -> dict[str, set[str]]:
    """What the gradient of each parameter depends on, apart from the incoming gradient.

    `out` stands for the call's own nodes: differentiating again passes through them.
    """
    run = Run(call, mask)
    reachable = _nodes_from([edge.node for edge in run.roots], stop=set())
    own = {node for node in reachable if not _is_argument(node) and not _is_leaf(node)}
    leaf_of = {id(leaf): name for name, leaves in run.leaves.items() for leaf in leaves}
    try:
        gradients = run.backward(retain=True, create=True)
    except (RuntimeError, NotImplementedError):
        return {}
    found: dict[str, set[str]] = {}
    index = 0
    for name, leaves in run.leaves.items():
        depends: set[str] = set()
        for _ in leaves:
            gradient = gradients[index]
            index += 1
            if gradient is not None and gradient.grad_fn is not None:
                depends |= _reached([gradient.grad_fn], own, leaf_of)
        found[name] = depends
    return found


def _nodes_from(starts: list[Any], stop: set[Any]) -> set[Any]:
    """Every node reachable from `starts`; a node of `stop` is included, what is behind it is not."""
    found: set[Any] = set()
    todo = list(starts)
    while todo:
        node = todo.pop()
        if node is None or node in found:
            continue
        found.add(node)
        if node not in stop:
            todo.extend(following for following, _ in node.next_functions)
    return found


def _reached(starts: list[Any], own: set[Any], leaf_of: dict[int, str]) -> set[str]:
    """Names of the leaves that are met, and `out` where a node of the call's own graph is."""
    depends: set[str] = set()
    for node in _nodes_from(starts, stop=own):
        if node in own:
            depends.add("out")
        elif _is_leaf(node):
            depends.add(leaf_of[id(node.variable)])
    return depends


def _is_leaf(node: Any) -> bool:
    return bool(node.name() == "torch::autograd::AccumulateGrad")


def _is_argument(node: Any) -> bool:
    """The clone that stands between a leaf and the call."""
    following = [after for after, _ in node.next_functions if after is not None]
    return node.name() == "CloneBackward0" and len(following) == 1 and _is_leaf(following[0])
