"""`backward`, `torch.autograd.backward` and `torch.autograd.grad`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain.events import FreedGraph, InvalidTensorUse
from gradcheck_tool.domain.graph import Node, Tensor
from gradcheck_tool.domain.records import List
from gradcheck_tool.domain.values import (
    NONE,
    Const,
    NoGradient,
    Ref,
    Symbol,
    Tup,
    Value,
    fresh,
    unknown,
)
from gradcheck_tool.engine.errors import Raised
from gradcheck_tool.interp.facts import BackwardRan, Taken
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.mending import is_mended
from gradcheck_tool.interp.registry import Result, function, method
from gradcheck_tool.library.torch.freed_graph_cause import carrier, cause_of, is_excluded
from gradcheck_tool.library.torch.gradient_edges import tensor_of
from gradcheck_tool.library.torch.graph_symbols import doubt_saved, doubt_siblings
from gradcheck_tool.library.torch.tensor_values import as_tensor, receiver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
from gradcheck_tool.library.torch.function_backward import run_functions
from gradcheck_tool.library.torch.tensor_hooks import run_hooks

# Gradients that hold nothing but what a scaled loss adds.
_EMPTY_OR_SCALED = ("none", "zeroed", "scaled")


@method("tensor", "backward")
def backward(m: Interpreter, s: State, call: Call) -> Result:
    root = receiver(m, s, call)
    gradient = call.get(0, "gradient")
    return _backward(m, s, [root], [gradient or NONE], call, offset=1)


@function("torch.autograd.backward")
def backward_function(m: Interpreter, s: State, call: Call) -> Result:
    roots = _tensors(m, s, call.get(0, "tensors") or NONE, call.site)
    if not roots:
        return _opaque_backward(s, call.site)
    gradients = call.get(1, "grad_tensors")
    given = _cotangents(s, gradients, len(roots))
    if not _may_be_fewer(s, call.get(0, "tensors")):
        _check_count(m, s, roots, gradients, call)
    return _backward(m, s, roots, given, call, offset=2)


def _tensors(m: Interpreter, s: State, value: Value, site: Any) -> list[Ref]:
    one = as_tensor(m, s, tensor_of(s, value), site)
    if one is not None:
        return [one]
    found = [as_tensor(m, s, tensor_of(s, item), site) for item in elements(s, value)[0]]
    return [ref for ref in found if ref is not None]


def _cotangents(s: State, value: Value | None, count: int) -> list[Value]:
    if value is None or value == NONE:
        return [NONE] * count
    if s.get(value, Tensor) is not None:
        return [value] * count
    items, is_open = elements(s, value)
    return [items[i] if i < len(items) else (unknown() if is_open else NONE) for i in range(count)]


def _may_be_fewer(s: State, value: Value | None) -> bool:
    """Are the tensors those of an iterable of unknown length? As many as it may have stand for it."""
    return s.get(value, Tensor) is None and elements(s, value or NONE)[1]


def _check_count(m: Interpreter, s: State, roots: Sequence[Ref], gradients: Value | None, call: Call) -> None:
    """There is a gradient (or None) for each of the differentiated tensors.

    Raises:
        Raised: where there are certainly fewer.
    """
    if gradients is None or gradients == NONE or is_mended(m, call.site):
        return
    items, is_open = elements(s, gradients) if s.get(gradients, Tensor) is None else ([gradients], False)
    if len(items) < len(roots) and not is_open:
        raise Raised(
            InvalidTensorUse(
                site=call.site,
                text=f"got {len(roots)} tensors and {len(items)} gradients",
                kind="grad-count",
                tensor=str(s[roots[0]].name),
                call=str(call.text),
            )
        )


def _empty_inputs(call: Call) -> Raised:
    return Raised(
        InvalidTensorUse(
            site=call.site,
            text="`inputs` argument to `backward()` cannot be empty.",
            kind="empty-inputs",
            tensor="",
            call=str(call.text),
        )
    )


def _backward(
    m: Interpreter, s: State, roots: list[Ref], given: list[Value], call: Call, offset: int
) -> Result:
    create = call.flag(offset + 1, "create_graph", False)
    old = call.flag(-1, "retain_variables", create)  # its name before PyTorch 0.3
    retain = create if call.get(offset, "retain_graph") == NONE else call.flag(offset, "retain_graph", old)
    inputs = call.get(offset + 2, "inputs")
    p = engine.BackwardPass(
        roots,
        [g != NONE for g in given],
        retain,
        create,
        call.site,
        call.text,
        cotangents=given,
        is_mended=is_mended(m, call.site),
        inputs=None if inputs is None or inputs == NONE else _tensors(m, s, inputs, call.site),
    )
    if p.inputs is not None and not p.inputs and not elements(s, inputs or NONE)[1] and not p.is_mended:
        raise _empty_inputs(call)
    for root in roots:
        doubt_siblings(s, s[root].grad_fn)
    run_pass(m, s, p)
    if not retain:
        doubt_saved(s, p.ran)
    retained = [*_retained(s, p), *(ref for ref in p.inputs or () if s[ref].grad_fn is not None)]
    targets = p.leaves if p.inputs is None else [r for r in p.inputs if r in p.leaves or p.opaque]
    scaled = any(Symbol(("scaled", root)) in s.memory for root in roots)
    for leaf in targets:
        only_scaled = scaled and s[leaf].grad_state in _EMPTY_OR_SCALED
        engine.accumulate(s, p, leaf)
        if only_scaled:
            s.edit(leaf).grad_state = "scaled"
    for ref in retained:
        engine.accumulate(s, p, ref)
    if p.opaque or any(s[r].requires_grad is None for r in roots):
        _fill_groups(s, p, is_scaled=scaled)
    for root, with_gradient in zip(roots, p.given, strict=True):
        if s[root].requires_grad is None:
            _has_a_graph(s, root, p, is_number=not with_gradient)
    m.tell(s, BackwardRan(p))
    states = run_functions(m, s, p)
    return [(st, NONE) for state in states for st in run_hooks(m, state, p)]


def run_pass(m: Interpreter, s: State, p: engine.BackwardPass) -> None:
    """Run a pass; complete the story of what it raises, report what is silently wrong.

    Raises:
        Raised: where the engine would.
    """
    m.budget.making = False
    try:
        engine.run_backward(s, p)
    except Raised as error:
        if isinstance(error.event, FreedGraph):
            if is_excluded(m, s, error.event):
                raise Raised(None) from error
            freed = dataclasses.replace(cause_of(s, error.event), carrier=carrier(s, p))
            raise Raised(freed, error.kind) from error
        raise
    for event in p.silent[:1]:
        m.emit(event)


def _opaque_backward(s: State, site: Any) -> Value:
    for ref, tensor in s.records(Tensor):
        if tensor.leaf is not False:
            mine = s.edit(ref)
            mine.grad_state, mine.grad = "unknown", unknown()
    return NONE


def _fill_groups(s: State, p: engine.BackwardPass, *, is_scaled: bool) -> None:
    """A graph that continues unseen reaches parameters that are not known one by one, perhaps others."""
    reached = {leaf.id for leaf in p.leaves}
    for ref, tensor in s.records(Tensor):
        if tensor.is_summary and not (ref.id in reached and tensor.grad_state == "scaled"):
            mine = s.edit(ref)
            mine.passes = mine.passes if tensor.grad_state != "unknown" else ()
            is_all = is_scaled and tensor.grad_state in _EMPTY_OR_SCALED
            mine.grad_state = "scaled" if is_all else engine.added_to(tensor)
            mine.backward_site = p.site
            mine.grad = tensor.grad if ref.id in reached else unknown()
        elif (
            tensor.requires_grad is not False
            and tensor.leaf
            and ref.id not in reached
            and tensor.grad_state != "fresh"
        ):
            engine.expect_gradient(s, ref)
            s.edit(ref).backward_site = p.site


def _has_a_graph(s: State, root: Ref, p: engine.BackwardPass, *, is_number: bool) -> None:
    """What has been differentiated is the result of something, though nobody knows of what."""
    mine = s.edit(root)
    mine.requires_grad = True
    if mine.leaf is None and mine.grad_fn is None and mine.unsure_graph:
        node = Node("unknown", mine.name, mine.site or p.site)
        node.inputs, node.frees = (unknown(),), None
        if p.retain is False:
            node.freed, node.freed_at, node.freed_site, node.freed_text = True, fresh(), p.site, p.text
        mine.leaf, mine.grad_fn, mine.unsure_graph = False, s.new(node), False
        if is_number and mine.shape is None:
            mine.shape = ()


def _retained(s: State, p: engine.BackwardPass) -> list[Ref]:
    ran = {r.id for r in p.ran}
    return [
        ref
        for ref, t in s.records(Tensor)
        if t.retains_grad and t.grad_fn is not None and t.grad_fn.id in ran
    ]


@function("torch.autograd.graph.register_multi_grad_hook")
def multi_grad_hook(m: Interpreter, s: State, call: Call) -> Result:
    """One hook for several tensors, all of which must require grad unless any of them is enough."""
    for ref in _tensors(m, s, call.get(0, "tensors") or NONE, call.site):
        engine.refresh_view(s, ref)
        tensor: Tensor = s[ref]
        if (
            tensor.requires_grad is False
            and not tensor.unsure_graph
            and call.kwargs.get("mode") != Const("any")
        ):
            why = f"`{tensor.name}` does not require grad"
            text, name = "Expected gradient function to be set", "register_multi_grad_hook()"
            raise engine.refused(call.site, tensor, why, text, "hook-on-constant", name, "AssertionError")
    return unknown("data")


@function("torch.autograd.grad")
def grad(m: Interpreter, s: State, call: Call) -> Result:
    roots = _tensors(m, s, call.get(0, "outputs") or NONE, call.site)
    wanted = call.get(1, "inputs") or NONE
    one = s.get(tensor_of(s, wanted), Tensor) is not None
    inputs = _tensors(m, s, wanted, call.site)
    for ref in inputs:
        engine.follow_base(s, ref)
    m.tell(s, Taken(inputs, "autograd.grad", call.site, wanted))
    complete = one or not elements(s, wanted)[1]
    if complete and not inputs and (wanted == Tup(()) or s.get(wanted, List) is not None):
        # A list that a loop fills where a test says so is empty on one of many paths only: no event yet.
        raise Raised(None)
    if not roots or not inputs:
        _forget_graphs(s, roots, call)
        return Tup((), open=True) if not one else Tup((unknown(),))
    create = call.flag(4, "create_graph", False)
    retain = create if call.get(3, "retain_graph") == NONE else call.flag(3, "retain_graph", create)
    given = _cotangents(s, call.get(2, "grad_outputs"), len(roots))
    if not _may_be_fewer(s, call.get(0, "outputs")):
        _check_count(m, s, roots, call.get(2, "grad_outputs"), call)
    p = engine.BackwardPass(
        roots,
        [g != NONE for g in given],
        retain,
        create,
        call.site,
        call.text,
        call="grad",
        inputs=inputs,
        cotangents=given if call.flag(6, "is_grads_batched", False) is False else (),
        is_mended=is_mended(m, call.site),
    )
    run_pass(m, s, p)
    m.tell(s, BackwardRan(p))
    results = _asked_for(s, p, inputs, call, create)
    states = run_functions(m, s, p)
    # What stands for several parameters has a gradient that stands for theirs.
    stands_for_all = complete or any(s[ref].is_summary for ref in inputs)
    return [(st, Tup(tuple(results), open=not stands_for_all)) for st in states]


def _asked_for(
    s: State, p: engine.BackwardPass, inputs: list[Ref], call: Call, create: bool | None
) -> list[Value]:
    """What a pass gives for each of its inputs.

    Raises:
        Raised: for an input that is certainly not used, where that is not allowed.
    """
    zeros = call.flag(7, "materialize_grads", False)
    allow = call.flag(5, "allow_unused", zeros)
    results: list[Value] = []
    for ref in inputs:
        error = engine.unused(s, p, ref)
        if error is not None and allow is False and not p.is_mended:
            raise Raised(error)
        if error is not None:
            results.append(NoGradient(None, str(s[ref].name)) if allow and zeros is False else unknown())
            continue
        at = engine.edge(s, ref)
        history = p.flows.get(at, ()) if isinstance(at, Ref) else (unknown(),)
        results.append(engine.gradient(s, p, ref, history))
        s.edit(results[-1]).overlaps = engine.expanded(s, p, at, s[ref].shape)  # type: ignore[arg-type]
        if not isinstance(at, Ref):
            made = s.edit(results[-1])  # type: ignore[arg-type]
            if create is not False:
                made.requires_grad, made.leaf, made.unsure_graph = None, None, True
    return results


def _forget_graphs(s: State, roots: Sequence[Ref], call: Call) -> None:
    if call.flag(3, "retain_graph", False) is True or call.flag(4, "create_graph", False) is True:
        return
    for root in roots:
        node = s[root].grad_fn
        if node is not None:
            s.edit(node).unsure_freed = True
