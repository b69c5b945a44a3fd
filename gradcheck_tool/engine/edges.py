"""Where gradients go from a tensor: its place in the graph, and what is recorded.

A view regenerates its history after a write to its base, as `Variable::grad_fn` of
torch/csrc/autograd/variable.cpp does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import ViewWrite
from gradcheck_tool.domain.graph import Node, Storage, Tensor
from gradcheck_tool.domain.values import ELSEWHERE, NONE, TRUE, Ref, Symbol, Value, unknown
from gradcheck_tool.engine.errors import FORBIDDING, Raised, story
from gradcheck_tool.engine.tensors import APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State


def edge(s: State, ref: Ref) -> Value:
    """Where the gradient of this tensor goes: its node, the leaf itself, NONE, or unknown.

    Raises:
        Raised: for views that forbid to be used after a write to their base.
    """
    refresh_view(s, ref)
    return history(s, ref)


def history(s: State, ref: Ref) -> Value:
    """The edge of a tensor as it was last asked for."""
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False:
        return NONE
    if tensor.grad_fn is not None:
        return tensor.grad_fn
    if tensor.requires_grad and tensor.leaf:
        return NONE if tensor.grad_via_base else ref
    return unknown(ELSEWHERE) if is_given(s, ref) else unknown()


def note_given(s: State, ref: Ref) -> None:
    """Whether a tensor has a graph, and which, is up to whoever gives the program its arguments."""
    s.memory[Symbol(("given-tensor", ref))] = TRUE


def is_given(s: State, ref: Ref) -> bool:
    """Is a tensor an argument of which nothing is known, or computed from such alone?"""
    return Symbol(("given-tensor", ref)) in s.memory


def edges_of(s: State, refs: Sequence[Ref], *, is_recorded: bool = False) -> tuple[Value, ...]:
    """Where the gradients of the inputs of one node go, as far as they certainly go there.

    An input that is not known to require grad may have no graph. If it is the only one that can have one, the
    node is there because of it and leads to it, unless the node `is_recorded` in any case.

    Raises:
        Raised: as `edge`.
    """
    edges = [edge(s, ref) for ref in refs]
    answers = [s[ref].requires_grad for ref in refs]
    decides = not is_recorded and True not in answers and answers.count(None) == 1
    return tuple(
        at if decides or answer is not None or isinstance(at, Symbol) else unknown()
        for at, answer in zip(edges, answers, strict=True)
    )


def follow_base(s: State, ref: Ref) -> None:
    """A view requires grad as soon as its base does, also one made under no_grad; it has no history yet."""
    tensor: Tensor = s[ref]
    if tensor.base is None or tensor.view in APART:
        return
    base: Tensor = s[tensor.base]
    if base.requires_grad is not False and tensor.requires_grad is False:
        mine = s.edit(ref)
        mine.requires_grad, mine.unsure_graph, mine.grad_via_base = (
            base.requires_grad,
            base.requires_grad is None,
            True,
        )


def refresh_view(s: State, ref: Ref, *, in_any_mode: bool = False) -> None:
    """Regenerate the history of a view whose base was written to, as `Variable::grad_fn` does.

    Operations ask for it in grad mode alone, backward passes `in_any_mode`.

    Raises:
        Raised: for views that forbid it (outputs of multi-view ops, views made under no_grad).
    """
    follow_base(s, ref)
    tensor: Tensor = s[ref]
    if tensor.base is None or tensor.view in APART:
        return
    base: Tensor = s[tensor.base]
    if not base.requires_grad or tensor.base_version == s[base.storage].version:
        return
    storage: Storage = s[base.storage]
    if storage.unsure:
        return
    text = FORBIDDING[tensor.view][2] if tensor.view in FORBIDDING else None
    if text is not None and (s.grad or in_any_mode) and storage.site is not None:
        steps = (
            story(tensor.site, "the view is made here", "alias", tensor),
            story(storage.site, f"`{storage.how}` changes its base here"),
        )
        raise Raised(
            ViewWrite(
                site=storage.site,
                story=steps,
                text=text,
                tensor=str(tensor.name),
                write=str(storage.how),
                kind=str(tensor.view),
            )
        )
    node = Node("AsStridedBackward0", tensor.name, tensor.site)
    node.inputs = (base.grad_fn if base.grad_fn is not None else tensor.base,)
    node.needs = ((),)
    mine = s.edit(ref)
    mine.grad_fn = s.new(node)
    mine.requires_grad = True
    mine.leaf = False
    mine.base_version = storage.version


def requires(s: State, refs: Sequence[Ref]) -> bool | None:
    """Does any of the tensors require grad?"""
    answer: bool | None = False
    for ref in refs:
        follow_base(s, ref)
        requires_grad = s[ref].requires_grad
        if requires_grad:
            return True
        if requires_grad is None:
            answer = None
    return answer


def tracked(s: State, refs: Sequence[Ref]) -> bool | None:
    """Will an op on these tensors be recorded?"""
    needs = requires(s, refs)
    if s.grad is False or s.inference or needs is False:
        return False
    return None if s.grad is None else needs


def only_inference(s: State, refs: Sequence[Ref]) -> bool:
    """Are all of these inference tensors, used outside inference mode? Autograd never sees such a call."""
    return not s.inference and bool(refs) and all(s[ref].inference for ref in refs)
