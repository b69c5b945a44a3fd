"""Watch one call: what its graph nodes save, free and share, found out by provoking the engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from .outputs import Shown, aliasing, describe, variations
from .run import (
    FREED,
    MODIFIED,
    Call,
    Mask,
    Run,
    can_require_grad,
    map_tensors,
    masks_of,
    slot_names,
    tensors_in,
    transposed_layout,
)
from .second import dependencies

MULTIPLE = "returns multiple views"
OVERLAPPING = "more than one element of the written-to tensor refers to a single memory location"
IMPOSSIBLE = ("is not implemented", *MODIFIED)


@dataclass
class Observation:
    """Everything that was seen of one call.

    `saved` and `freed` are per mask of parameters that require grad; of a list of tensors all do. `elements`
    says for a list which of its tensors are saved where one requires grad: `all`, `own` or `others`. `guarded` says
    for parameters that are written whether the call refuses those whose elements share memory; `idempotent`:
    done once more it changes nothing. Slots are parameter names, or `out` (`out1`, ... for later outputs).
    """

    result: str = "value"
    outputs: list[Shown] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    saved: dict[str, set[Mask]] = field(default_factory=dict)
    partly: set[str] = field(default_factory=set)
    elements: dict[str, str] = field(default_factory=dict)
    freed: set[Mask] = field(default_factory=set)
    tracked: set[str] = field(default_factory=set)
    refuses: set[str] = field(default_factory=set)
    unimplemented: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    unversioned: set[str] = field(default_factory=set)
    zero: set[str] = field(default_factory=set)
    second: dict[str, set[str]] = field(default_factory=dict)
    dense: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    guarded: dict[str, bool] = field(default_factory=dict)
    idempotent: bool = False
    node: str = ""


def observe(call: Call) -> Observation | None:
    """Everything about one call, or None where the call does not work at all."""
    try:
        plain = Run(call, frozenset())
    except Exception:
        return None
    seen = Observation(result=_result_kind(plain.returned))
    parameters = [n for n, ts in plain.slots.items() if any(can_require_grad(t) for t in ts)]
    for parameter in parameters:
        _watch_single(call, parameter, seen)
    usable = [name for name in parameters if name not in seen.refuses]
    _watch_writes(plain, seen)
    _watch_overlap(call, plain, seen)
    seen.idempotent = bool(seen.writes) and _changes_nothing_more(call, seen.writes)
    full = Run(call, frozenset(usable))
    others = variations(call)
    seen.outputs = [describe(index, full, others, bool(usable)) for index in range(len(full.outputs))]
    _watch_views(call, frozenset(usable), seen)
    for mask in masks_of(sorted(usable)):
        if mask & seen.tracked and not mask & seen.unimplemented:
            _watch_mask(call, mask, seen)
    tracked = frozenset(seen.tracked - seen.unimplemented)
    if tracked:
        seen.node = _node_name(full, seen)
        _watch_elements(call, tracked, seen)
        seen.second = dependencies(call, tracked)
        _watch_layout(call, tracked, seen)
        _watch_swaps(call, tracked, seen)
    return seen


def _result_kind(returned: Any) -> str:
    if isinstance(returned, Tensor):
        return "tensor"
    if isinstance(returned, tuple) and returned and all(isinstance(item, Tensor) for item in returned):
        return "tuple"
    if isinstance(returned, list) and any(True for _ in tensors_in(returned)):
        return "list"
    if returned is None:
        return "none"
    return "nested" if any(True for _ in tensors_in(returned)) else "value"


def _watch_single(call: Call, parameter: str, seen: Observation) -> None:
    """Does this parameter alone make a result require grad, is it refused, is its gradient zero?"""
    try:
        run = Run(call, frozenset([parameter]))
    except Exception:
        seen.refuses.add(parameter)
        return
    if not run.roots:
        return
    seen.tracked.add(parameter)
    try:
        gradients = run.backward(retain=True)
    except (RuntimeError, NotImplementedError) as error:
        if any(text in str(error) for text in IMPOSSIBLE):
            seen.unimplemented.add(parameter)
            return
        raise
    zero = all(gradient is not None and not gradient.any() for gradient in gradients)
    run.backward(retain=False)
    if zero and not run.raises(FREED, retain=False):
        seen.zero.add(parameter)


def _watch_writes(run: Run, seen: Observation) -> None:
    for name, tensors in run.slots.items():
        for tensor in tensors:
            if tensor._version != run.versions[id(tensor)]:
                seen.writes.add(name)
            elif tensor.layout is torch.strided and not _equal(tensor, run.data[id(tensor)]):
                seen.unversioned.add(name)


def _watch_overlap(call: Call, run: Run, seen: Observation) -> None:
    """Are written tensors refused, and one given as `out`, where their elements share memory?"""
    targets = {name: run.slots[name][0] for name in seen.writes if len(run.slots[name]) == 1}
    if seen.result == "tensor" and "out" in call.facts and "out" not in run.slots:
        targets["out"] = run.outputs[0]
    for name, target in targets.items():
        if target.layout is torch.strided and target.dim() and len(target) > 1:
            shared = torch.empty_like(target)[:1].expand_as(target)
            arguments = {n: map_tensors(value, torch.clone) for n, value in call.arguments.items()}
            try:
                call.invoke({**arguments, name: shared})
                seen.guarded[name] = False
            except Exception as error:  # what else may be wrong with such a target does not matter here
                if OVERLAPPING in str(error):
                    seen.guarded[name] = True


def _changes_nothing_more(call: Call, written: set[str]) -> bool:
    """Does the same call, made again on what it has written, leave that as it is?"""
    arguments = {name: map_tensors(value, torch.clone) for name, value in call.arguments.items()}
    call.invoke(arguments)
    once = [tensor.clone() for name in sorted(written) for tensor in tensors_in(arguments[name])]
    call.invoke(arguments)
    twice = [tensor for name in sorted(written) for tensor in tensors_in(arguments[name])]
    return all(_equal(now, before) for now, before in zip(twice, once, strict=True))


def _equal(now: Tensor, before: Tensor) -> bool:
    return now.shape == before.shape and torch.equal(torch.nan_to_num(now), torch.nan_to_num(before))


def _watch_views(call: Call, mask: Mask, seen: Observation) -> None:
    """Views whose in-place edit is forbidden because one call made several of them."""
    for position, shown in enumerate(seen.outputs):
        if shown.view != "view" or not shown.differentiable:
            continue
        run = Run(call, mask)
        try:
            run.outputs[position].mul_(2)
        except RuntimeError as error:
            if MULTIPLE in str(error):
                seen.outputs[position] = replace(shown, view="multi")


def _watch_mask(call: Call, mask: Mask, seen: Observation) -> None:
    """What is protected and what is freed with exactly these parameters requiring grad."""
    seen.masks.append(mask)
    run = Run(call, mask)
    hits: dict[str, list[bool]] = {}
    for name, tensor in slot_names(run):
        if tensor.layout is torch.strided:
            hits.setdefault(name, []).append(run.protects(tensor))
    for name, values in hits.items():
        if any(values):
            seen.saved.setdefault(name, set()).add(mask)
        if any(values) and not all(values):
            seen.partly.add(name)
    run.backward(retain=False)
    if run.raises(FREED, retain=False):
        seen.freed.add(mask)


def _watch_elements(call: Call, tracked: Mask, seen: Observation) -> None:
    """Which tensors of a list are saved where only the first of them requires grad."""
    for name in tracked & set(seen.saved):
        run = Run(call, frozenset([name]), only_first=True)
        if len(run.slots[name]) < 2 or not run.roots:
            continue
        first, *others = [run.protects(tensor) for tensor in run.slots[name]]
        kinds = {(True, True): "all", (True, False): "own", (False, True): "others"}
        seen.elements[name] = kinds.get((first, all(others)), "?")


def _node_name(run: Run, seen: Observation) -> str:
    """Name of the outermost node that the call made; empty where it hands an argument through."""
    for shown, tensor in zip(seen.outputs, run.outputs, strict=True):
        if tensor.grad_fn is not None and (shown.view != "same" or shown.view_of in seen.writes):
            return str(tensor.grad_fn.name())
    return ""


def _watch_swaps(call: Call, mask: Mask, seen: Observation) -> None:
    """Which saved arguments are held through a view: other memory given to them leaves the gradients alone."""
    for name in seen.saved.keys() & seen.tracked:
        run = Run(call, mask)
        usual = run.backward(retain=True)
        for tensor in run.slots[name]:
            tensor.data = torch.randn_like(tensor)
        try:
            pairs = zip(usual, run.backward(retain=True), strict=True)
            alike = [_equal(a, b) for a, b in pairs if a is not None and b is not None]
        except RuntimeError:
            continue
        if all(alike) and _depends_on(call, mask, name):
            seen.apart.add(name)


def _depends_on(call: Call, mask: Mask, name: str) -> bool:
    """Do the gradients depend on the values of a saved argument at all? (Those of `x ** 1` do not.)"""
    run = Run(call, mask)
    usual = run.backward(retain=True)
    for tensor in run.slots[name]:
        tensor.data.copy_(torch.randn_like(tensor))
    pairs = zip(usual, run.backward(retain=True), strict=True)
    return not all(_equal(a, b) for a, b in pairs if a is not None and b is not None)


def _watch_layout(call: Call, mask: Mask, seen: Observation) -> None:
    """What changes when the arguments are not contiguous: lost protection, a view that becomes a copy."""
    try:
        run = Run(call, mask, prepare=transposed_layout)
        protected = {
            name
            for name, tensor in slot_names(run)
            if tensor.layout is torch.strided and run.protects(tensor)
        }
    except (RuntimeError, NotImplementedError):
        return
    always = {name for name, masks in seen.saved.items() if mask in masks}
    seen.dense = always - protected
    for position, (shown, tensor) in enumerate(zip(seen.outputs, run.outputs, strict=False)):
        view, source = aliasing(tensor, run)
        if (shown.view is None) != (view is None) or (shown.view == "same") != (view == "same"):
            seen.outputs[position] = replace(shown, view="maybe", view_of=shown.view_of or source)
