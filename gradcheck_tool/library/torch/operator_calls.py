"""Operations by name and by operator: which function of the op tables a call or an operator is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gradcheck_tool import engine
from gradcheck_tool.domain import shapes
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import (
    NONE,
    TRUE,
    Const,
    Ref,
    Symbol,
    Value,
)
from gradcheck_tool.engine import optable
from gradcheck_tool.engine.effect import Effect
from gradcheck_tool.interp import registry
from gradcheck_tool.interp.facts import Written
from gradcheck_tool.interp.registry import finder
from gradcheck_tool.library.torch.manual_updates import note_assigned, note_manual_step, note_zeroed
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter
    from gradcheck_tool.interp.registry import Native, Result
from gradcheck_tool.library.torch.functions import call_named

# Marks an unknown value of which no more is known than that it is an operand beside a tensor.
OPERAND = "operand"


@finder
@functools.cache
def find_native(name: str) -> Native | None:
    """A native for a function or method that the tables describe."""
    is_method = name.startswith("torch.Tensor.")
    if is_method and optable.find(name) is None:
        leaf = name.removeprefix("torch.Tensor.")
        others = (
            f"torch.{leaf}",
            f"torch.nn.functional.{leaf}",
            f"torch.special.{leaf}",
            f"torch.linalg.{leaf}",
        )
        name = next((other for other in others if optable.find(other) is not None), name)
    if name.endswith("_") and name.count(".") == 1 and optable.find(name) is None:
        name = f"torch.Tensor.{name.removeprefix('torch.')}"
    if optable.find(name) is None:
        return None

    def run(m: Interpreter, s: State, call: Call) -> Result:
        args = [call.receiver, *call.args] if is_method and call.receiver != NONE else call.args
        out = call_named(m, s, name, args, call.kwargs, call.site, call.text)
        if call.unsure and s.get(out, Tensor) is not None:
            # Sizes may be among what a star-argument adds.
            s.edit(out).shape = None  # type: ignore[arg-type]
        target = args[0] if args else NONE
        if name.endswith(".zero_") or (name.endswith(".fill_") and Const(0) in args[1:]):
            note_zeroed(m, s, target, call.site)
        elif name.endswith(".fill_"):
            note_assigned(s, target)
        elif name.endswith((".add_", ".sub_", ".copy_")) and isinstance(target, Ref):
            for operand in args[1:]:
                note_manual_step(m, s, target, s.get(operand, Tensor), call.site)
        if name.endswith("_") and isinstance(target, Ref):
            m.tell(s, Written(target, name.rpartition(".")[2], args[1:], call.site))
        return out

    return run


def call_operator(
    m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
) -> Value:
    """`left op right` with at least one tensor: the other may be a number, if nothing else is known of it."""
    met = [v for v in (left, right) if isinstance(v, Symbol) and Symbol(("tensor", v)) not in s.memory]
    result = call_named(m, s, f"operator.{op}", [left, right], {}, site, text)
    s.memory.update(dict.fromkeys([Symbol((OPERAND, v)) for v in met], TRUE))
    return result


def call_inplace_operator(
    m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any
) -> Value:
    """`left op= right` on a tensor. Matrix product has no in-place form."""
    name = f"operator.{op}=" if op != "@" else f"operator.{op}"
    result = call_named(m, s, name, [left, right], {}, site, text)
    if isinstance(left, Ref):
        m.tell(s, Written(left, f"{op}=", (right,), site))
    source = s.get(right, Tensor)
    if source is not None and isinstance(left, Ref):
        note_manual_step(m, s, left, source, site)
    return result


def call_unary(m: Interpreter, s: State, op: str, value: Value, site: Any, text: Any) -> Value:
    """`-t`, `+t`, `~t`."""
    name = {"-": "operator.neg", "+": "operator.pos", "~": "operator.~"}[op]
    if optable.find(name) is None:
        name = {"-": "torch.neg", "+": "torch.positive", "~": "torch.bitwise_not"}[op]
    return call_named(m, s, name, [value], {}, site, text)


def call_compare(m: Interpreter, s: State, op: str, left: Value, right: Value, site: Any, text: Any) -> Value:
    """A comparison of tensors: a tensor of truth values without history."""
    refs = {
        n: r
        for n, r in (("self", as_tensor(m, s, left, site)), ("other", as_tensor(m, s, right, site)))
        if r is not None
    }
    effect = Effect(node="", differentiable=(False,), dtypes=("bool",))
    shape = shapes.broadcast([s[r].shape for r in refs.values()])
    return engine.apply(s, effect, refs, site, text, [shape])[0]


def tensor_native(name: str) -> Native | None:
    """The native for a tensor method: one that is registered, or an operation of the tables."""
    native = registry.METHODS.get(("tensor", name))
    if native is not None:
        return native
    return find_native(f"torch.Tensor.{name}")
