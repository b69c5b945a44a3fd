"""Gradients that the program sets to zero in part, to keep some elements of a parameter as they are.

Weight decay moves those elements all the same. It does no harm where they are written after each step, or are
zero because they have been pruned: any write of the program's own to the parameter excuses it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradcheck_tool.domain.events import MaskedDecay
from gradcheck_tool.domain.graph import Storage, Tensor
from gradcheck_tool.domain.records import Dict
from gradcheck_tool.domain.values import FALSE, TRUE, Const, Ref, Slice, Symbol, Value
from gradcheck_tool.engine.errors import story
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.iteration import elements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradcheck_tool.domain.events import Site
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

# Writes that may set elements to zero, which decay leaves there.
PRUNING = re.compile(r"mul_|\*=|masked_fill_|zero_|= *0")


def decays(s: State, call: Call) -> Value:
    """Does the optimizer that is made here certainly move weights towards zero at each step?"""
    given = call.kwargs.get("weight_decay")
    groups = [s.get(item, Dict) for item in elements(s, call.args[0])[0]] if call.args else []
    if call.unsure or any(group is not None and Const("weight_decay") in group.items for group in groups):
        return FALSE
    if given is None:
        return TRUE if registry.lib_name(call.func) == "torch.optim.AdamW" else FALSE
    rate = registry.const(given)
    return TRUE if isinstance(rate, (int, float)) and rate > 0 else FALSE


def note_item(m: Interpreter, s: State, ref: Ref, index: Value, value: Value, site: Site) -> None:
    """`grad[index] = 0`, but for `grad[:] = 0`."""
    if value in (Const(0), Const(0.0)) and index not in (Slice(None, None, None), Const(Ellipsis)):
        _note(m, s, ref, site)


def note_product(m: Interpreter, s: State, ref: Ref, factor: Value, site: Site) -> None:
    """`grad *= mask` with a factor of several elements."""
    tensor = s.get(factor, Tensor)
    if (
        tensor is not None
        and tensor.requires_grad is False
        and tensor.shape
        and numel_is_one(tensor.shape) is not True
    ):
        _note(m, s, ref, site)


def _note(m: Interpreter, s: State, ref: Ref, site: Site) -> None:
    grad: Tensor = s[ref]
    for leaf in grad.grads_of:
        held = s.get(s[leaf].grad, Tensor)  # type: ignore[index]
        if held is not None and held.storage == grad.storage:
            m.masks[id(site.node)] = site
            s.memory[Symbol(("masked", leaf))] = Const(str(id(site.node)))


def stepped(m: Interpreter, s: State, optimizer: Ref, params: Iterable[Any], site: Site, text: str) -> None:
    """An optimizer steps: does it decay what a mask is to keep, for the second time running?"""
    decay = s[optimizer].attrs.get("#decay") == TRUE
    for ref in params:
        key, excuse, before = (Symbol((word, ref)) for word in ("masked", "own-write", "stepped"))
        place = s.memory.pop(key, None)
        storage: Storage = s[s[ref].storage]
        own = storage.writer == "inplace" and (before in s.memory or PRUNING.search(str(storage.how)))
        if own or storage.unsure:
            s.memory[excuse] = TRUE
        s.memory[before] = TRUE
        if place is None or not decay or excuse in s.memory or storage.writer != "optimizer":
            continue
        where = m.masks[int(registry.const(place))]
        if ("masked", id(where.node)) not in m.noted:
            m.noted.add(("masked", id(where.node)))
            steps = (
                story(where, f"part of the gradient of `{s[ref].name}` is set to zero here"),
                story(site, f"`{text}` decays all of `{s[ref].name}` here"),
            )
            m.emit(MaskedDecay(site=where, story=steps, parameter=str(s[ref].name), optimizer=text))
