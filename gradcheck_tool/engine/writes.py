"""Writes in place: what forbids them, and what they change.

The checks are those of torch/csrc/autograd (VariableTypeUtils.h `check_inplace`, `rebase_history`), restated
over abstract tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import LeafWrite, ViewWrite
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.values import NONE, VERSION, Ref, Symbol, Text, Value, fresh, unknown
from gradcheck_tool.engine.edges import requires
from gradcheck_tool.engine.errors import (
    FORBIDDING,
    INFERENCE_WRITE,
    LEAF_VIEW_WRITE,
    LEAF_WRITE,
    OVERLAP,
    Raised,
    refused,
    story,
)
from gradcheck_tool.engine.tensors import APART

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State

# The node of what a module with a full backward hook hands out.
HOOKED = "BackwardHookFunctionBackward"


def check_write(
    s: State, ref: Ref, others: Sequence[Ref], site: Any, how: Text, guarded: bool = True
) -> None:
    """What PyTorch checks before an in-place op, in its order.

    Raises:
        Raised: for leaves that require grad, views of such leaves, and views that forbid writes.
    """
    tensor: Tensor = s[ref]
    # What detach() returns outside inference mode may be written to, and what it returned inside must not be:
    # which of them this is, is not known.
    # A tensor that got its memory by `.data = ...` has kept its version counter and may be written.
    refuses = tensor.inference and tensor.view != "detached" and tensor.memory == NONE
    if refuses and not s.inference:
        raise refused(
            site, tensor, "made in inference mode here", INFERENCE_WRITE, "inference-write", str(how)
        )
    _check_history(s, ref, others, site, how)
    if guarded:
        check_overlap(tensor, site, how)


def check_overlap(tensor: Tensor, site: Any, how: Text) -> None:
    """Refuse to write where several elements are one place in memory.

    Raises:
        Raised: for what `expand` has made.
    """
    if tensor.overlaps:
        raise Raised(
            ViewWrite(
                site=site,
                story=(story(tensor.site, "its elements share memory from here on", "alias", tensor),),
                text=OVERLAP,
                tensor=str(tensor.name),
                write=str(how),
                kind="expanded",
            )
        )


def _check_history(s: State, ref: Ref, others: Sequence[Ref], site: Any, how: Text) -> None:
    """What autograd has against a write."""
    tensor: Tensor = s[ref]
    if s.grad is not True or s.inference:
        return
    involved = [ref, *others]
    if tensor.base is not None and tensor.view not in APART:
        base: Tensor = s[tensor.base]
        if requires(s, involved) is not True and base.requires_grad is not True:
            return
        node = s.get(tensor.grad_fn, Node)
        _check_view(tensor, site, how, node is not None and node.op == HOOKED)
        if base.requires_grad and base.leaf:
            _refuse_leaf(s, base, site, how, through_view=True)
    if tensor.leaf and tensor.requires_grad:
        _refuse_leaf(s, tensor, site, how)


def _refuse_leaf(s: State, leaf: Tensor, site: Any, how: Text, through_view: bool = False) -> None:
    """Raise, unless a manager of which nothing is known is open: the write shows what that is there for."""
    if s.doubts:
        s.grad = False
        return
    made = story(leaf.site, f"`{leaf.name}` is a leaf that requires grad", "made", leaf)
    text = LEAF_VIEW_WRITE if through_view else LEAF_WRITE
    raise Raised(
        LeafWrite(
            site=site,
            story=(made,),
            text=text,
            tensor=str(leaf.name),
            write=str(how),
            through_view=through_view,
            is_parameter=leaf.is_param is not False,
        )
    )


def _check_view(tensor: Tensor, site: Any, how: Text, hooked: bool) -> None:
    """Raise where a view forbids writes; `hooked`: it is what a full backward hook has wrapped."""
    if tensor.view in FORBIDDING:
        text, made, _ = FORBIDDING[tensor.view]
        text = f"Output 0 of BackwardHookFunction {text}" if hooked else text
        raise Raised(
            ViewWrite(
                site=site,
                story=(story(tensor.site, made),),
                text=text,
                tensor=str(tensor.name),
                write=str(how),
                kind=tensor.view,
            )
        )


def bump(
    s: State,
    ref: Ref,
    site: Any,
    how: Text,
    writer: str,
    versioned: bool = True,
    values: Value | None = None,
) -> None:
    """Record a write to the memory of a tensor.

    `versioned`: one that its counter counts. `values` stands for what is there then, if that is known.
    """
    tensor: Tensor = s[ref]
    storage = s.edit(tensor.storage)
    version = unknown(VERSION)
    storage.data = version if values is None else values
    if versioned and tensor.version_counter == NONE:
        storage.version = version
    elif versioned:
        storage.version_counters[tensor.version_counter] = version
    storage.site = site
    storage.how = how
    storage.writer = writer


def swap_memory(s: State, ref: Ref, site: Any, how: Text) -> None:
    """Give a tensor other memory, as `.data = ...` does: what holds the tensor itself finds other values."""
    tensor = s.edit(ref)
    tensor.memory, tensor.data_replaced = Symbol(fresh()), (site, how)


def rebase(s: State, ref: Ref, node: Ref | None, requires_grad: bool | None) -> None:
    """Give a tensor that was written in place its new history; through a view, its base too."""
    tensor = s.edit(ref)
    if requires_grad is not False:
        tensor.detached_because = ""
    if requires_grad is False or node is None:
        if requires_grad is None:
            tensor.requires_grad = None if not tensor.requires_grad else True
            tensor.unsure_graph = True
            tensor.leaf = _after_write(tensor, requires_grad)
        return
    if tensor.base is not None and tensor.view not in APART:
        base = s.edit(tensor.base)
        written: Node = s[node]
        copy = Node("CopySlices", written.text, written.site)
        copy.inputs = (base.grad_fn if base.grad_fn is not None else NONE, *written.inputs[1:])
        copy.saved_tensors = written.saved_tensors
        copy.frees = True
        copy.needs = ((), *(written.needs or ())[1:]) if written.needs is not None else None
        base.grad_fn = s.new(copy)
        base.leaf = _after_write(base, requires_grad)
        base.requires_grad = requires_grad
        view_node = Node("AsStridedBackward0", written.text, written.site)
        view_node.inputs = (base.grad_fn,)
        view_node.needs = ((),)
        tensor.grad_fn = s.new(view_node)
    else:
        tensor.grad_fn = node
    tensor.leaf = _after_write(tensor, requires_grad)
    tensor.requires_grad = requires_grad
    tensor.base_version = s[tensor.storage].version


def _after_write(tensor: Tensor, requires_grad: bool | None) -> bool | None:
    """Is a tensor still a leaf after a write that is recorded (None: may be)?"""
    if requires_grad:
        return False
    return None if tensor.leaf else tensor.leaf
