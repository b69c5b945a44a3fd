"""Parameters of layers that are given: `m.weight`, where the code has found or shows what `m` is.

`isinstance(m, nn.Linear)` says that an object is a layer, and `m.bias = nn.Parameter(...)` that what it
replaces was a Parameter, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import LibraryObject, Symbol, Tup, Value
from gradcheck_tool.engine import optable
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import FunctionBody

if TYPE_CHECKING:
    from gradcheck_tool.domain.records import Frame
    from gradcheck_tool.domain.state import State

_NAMES = ("weight", "bias")


def is_shown_parameter(s: State, value: Symbol) -> bool:
    """Is it a Parameter of an object that is not known, as far as the code shows?"""
    key = value.key
    if not isinstance(key, tuple) or len(key) != 3 or key[0] != "attr" or key[2] not in _NAMES:
        return False
    owner, name = key[1], key[2]
    if not isinstance(owner, Symbol) or any(s[frame].function.worked_out(_sets_flags) for frame in s.frames):
        return False
    return _is_of_layer(s, owner, name) or _is_replaced(s, owner, name)


def _sets_flags(function: ir.Function) -> bool:
    """Does a function turn gradients on or off? Then it is for it to say what requires one."""
    flags = (i for i in function.instructions() if isinstance(i, (ir.GetAttr, ir.SetAttr)))
    return any(i.name.startswith("requires_grad") for i in flags)


def _is_of_layer(s: State, owner: Symbol, name: str) -> bool:
    """Was the owner found to be of a class of layers that have such a Parameter?"""
    for test in (test for test, outcome in s.path_condition.items() if outcome):
        key = test.key if isinstance(test, Symbol) else None
        if isinstance(key, tuple) and key[0] == "isinstance" and key[1] == owner:
            kinds = key[2].items if isinstance(key[2], Tup) else (key[2],)
            if all(_has(kind, name) for kind in kinds):
                return True
    return False


def _has(kind: Value, name: str) -> bool:
    """Has a layer of this class such a Parameter, if nothing else is said?"""
    spec = optable.layer(kind.name) if isinstance(kind, LibraryObject) else None
    found = [tensor for tensor in spec.tensors if tensor.name == name] if spec is not None else []
    return any(tensor.kind == "parameter" and spec.has(tensor, {}) is not False for tensor in found)  # type: ignore[union-attr]


def _is_replaced(s: State, owner: Symbol, name: str) -> bool:
    """Does the running function replace what it reads, or has read, by a Parameter?"""
    frame: Frame = s[s.frames[-1]]
    body = frame.function.worked_out(FunctionBody)
    for i in body.instrs:
        if isinstance(i, ir.SetAttr) and i.name == name:
            held, made = body.made.get(i.obj), body.maker(i.src)
            func = body.maker(made.func) if isinstance(made, ir.Call) else None
            is_it = isinstance(held, ir.LoadName) and frame.locals.get(held.name) == owner
            if is_it and isinstance(func, (ir.GetAttr, ir.LoadName)) and func.name == "Parameter":
                return True
    return False
