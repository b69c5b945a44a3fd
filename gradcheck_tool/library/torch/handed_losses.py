"""Losses that are handed to code out of sight, which is there to back-propagate them.

`accelerator.backward(loss)` does what its name says, whatever `accelerator` is. So does a step of training
that gets the loss and its optimizer: `net.train_step(loss, optimizer)`. What becomes of the gradients is not
known: such code may clear or scale them, or apply them at once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Symbol, Value, unknown
from gradcheck_tool.engine.tensors import numel_is_one
from gradcheck_tool.interp.havoc import forget_gradient, graph_behind, havoc

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

_BACKWARD = re.compile(r"(?:^|_)backward$|^backward_")
_STEP = re.compile(r"train|optimi[sz]e|update|^step$")
_NAMED = re.compile(r"(?:\b|_)opt(?:im(?:izer)?)?(?:_\w+)?\b")
OPTIMIZER = "torch.optim."


def back_propagated(m: Interpreter, s: State, owner: Value, name: str, call: Call) -> Outcomes | None:
    """Carry out `owner.name(loss, ...)` where that back-propagates the loss; None where nothing says so."""
    if Symbol(("tensor", owner)) in s.memory:
        return None
    loss = _loss(s, [*call.args, *(call.kwargs[key] for key in ("loss",) if key in call.kwargs)])
    if loss is None:
        return None
    given = [*call.args, *call.kwargs.values()]
    steps = _STEP.search(name) is not None and _with_optimizer(s, call)
    if not steps and _BACKWARD.search(name) is None:
        return None
    m.program.assume(f"`{str(call.text).partition('(')[0]}` back-propagates `{s[loss].name}`")
    kept: dict[str, Value] = {
        key: call.kwargs[key] for key in ("retain_graph", "create_graph") if key in call.kwargs
    }
    out: Outcomes = []
    for state, _ in m.call_method(s, loss, "backward", [], kept, call.site, call.text):
        if state.exc is None:
            for ref in graph_behind(state, state[loss].grad_fn):
                forget_gradient(state, ref)
            others = [owner, *(value for value in given if value != loss)]
            havoc(state, others, keeps_layers=not steps, keeps_modes=not steps)
        out.append((state, unknown()))
    return out


def _loss(s: State, values: list[Value]) -> Ref | None:
    """The one number with a graph among the values; None where there are several."""
    found = [
        value
        for value in values
        if isinstance(value, Ref)
        and (tensor := s.get(value, Tensor)) is not None
        and tensor.requires_grad is True
        and tensor.grad_fn is not None
        and numel_is_one(tensor.shape) is True
    ]
    return found[0] if len(found) == 1 else None


def _with_optimizer(s: State, call: Call) -> bool:
    """Is an optimizer among the arguments: an object that is one, or something that is called so?"""
    records = (s.get(value, Instance) for value in (*call.args, *call.kwargs.values()))
    classes = [record.cls for record in records if record is not None]
    if any(isinstance(cls, LibraryObject) and cls.name.startswith(OPTIMIZER) for cls in classes):
        return True
    return _NAMED.search(str(call.text).partition("(")[2]) is not None
