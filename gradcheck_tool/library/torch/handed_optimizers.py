"""Optimizers that are handed to code out of sight, which is there to step them.

`strategy.optimizer_step(optimizer, model)` does what its name says, whatever `strategy` is. What else becomes
of the gradients is not known: such code may unscale, clip or clear them, or wait for more of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import LibraryObject, Ref, Value, unknown
from gradcheck_tool.interp.havoc import forget_gradient, havoc
from gradcheck_tool.library.torch.optimizers import apply_step, params_of

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

# What is called so and given an optimizer, steps it.
STEPS_OPTIMIZER = r"(?:^|_)opt(?:im(?:izer)?)?_step$|^step(?:_opt(?:im(?:izer)?)?)?$"
_STEPS = re.compile(STEPS_OPTIMIZER)
# What is called so sets the learning rate of the optimizer that it is given, which has had its step before.
_SCHEDULES = re.compile(r"sched|warm_?up|anneal|polic|decay|(?:^|_)lr(?:_|$)", re.IGNORECASE)


def stepped_elsewhere(m: Interpreter, s: State, owner: list[Value], name: str, call: Call) -> Outcomes | None:
    """Carry out `owner.name(optimizer, ...)` where that steps the optimizer; None where nothing says so."""
    callee = str(call.text).partition("(")[0]
    if _STEPS.search(name) is None or _SCHEDULES.search(callee.rpartition(".")[0].rpartition(".")[2]):
        return None
    given = [*call.args, *call.kwargs.values()]
    found = [value for value in given if isinstance(value, Ref) and is_optimizer(s, value)]
    if len(found) != 1:
        return None
    optimizer = found[0]
    shown = s[optimizer].name
    m.program.assume(f"`{callee}` steps `{shown}`")
    apply_step(m, s, optimizer, call.site, call.text, is_handed=True)
    for p in params_of(s, optimizer)[0]:
        forget_gradient(s, p)
    others = [value for value in (*owner, *given) if value != optimizer]
    havoc(s, others, keeps_layers=True, keeps_modes=True)
    return [(s, unknown())]


def is_optimizer(s: State, value: Value) -> bool:
    """Is it an optimizer of PyTorch's?"""
    record = s.get(value, Instance)
    cls = record.cls if record is not None else None
    return (
        isinstance(cls, LibraryObject)
        and cls.name.startswith("torch.optim.")
        and "lr_scheduler" not in cls.name
    )
