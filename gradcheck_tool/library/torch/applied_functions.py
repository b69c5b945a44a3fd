"""Functions that are called with each part of a module: `module.apply(init_weights)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.interp.havoc import havoc
from gradcheck_tool.interp.registry import Result, method
from gradcheck_tool.library.torch.module_tree import modules

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref, Value
    from gradcheck_tool.interp.api import Call, Interpreter

# How many of the ways through a function that `apply` calls go on to the next module.
MOST_APPLIED = 4


@method("torch.nn.Module", "apply")
def apply_to_all(m: Interpreter, s: State, call: Call) -> Result:
    """Calls a function with each module; one that changes nothing but values, with one of each class.

    Unsound where it tells modules of one class apart: what it would freeze of them stays as it is.
    """
    running = [s]
    raised: list[State] = []
    initialised: list[Value] = []
    for _, at in reversed(modules(s, call.self)) if call.args else ():
        cls = s[at].cls
        if cls in initialised:
            continue
        before = _what_is_trained(s, at)
        after = [st for state in running for st, _ in m.call(state, call.args[0], [at], {}, call.site)]
        raised += [state for state in after if state.exc is not None]
        running = m.budget.few([state for state in after if state.exc is None][:MOST_APPLIED])
        if all(_what_is_trained(state, at) == before for state in running):
            initialised.append(cls)
    return [(state, call.receiver) for state in (*running, *raised[:MOST_APPLIED])]


def _what_is_trained(s: State, ref: Ref) -> list[object]:
    """The attributes of a module, and whether its own parameters are trained."""
    held = s[ref].attrs
    tensors = (s.get(value, Tensor) for value in held.values())
    return [*held.items(), *(tensor.requires_grad for tensor in tensors if tensor is not None)]


@method("torch.nn.Module", "_apply")
def apply_to_tensors(m: Interpreter, s: State, call: Call) -> Result:
    """Puts what a function computes into the place of each parameter and buffer."""
    havoc(s, [call.receiver])
    return call.receiver
