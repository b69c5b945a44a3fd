"""Operators that are called by name: `operator.iadd(x, y)`, `x.__iadd__(y)`, `x.__setitem__(i, y)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import NONE, Method, Value, unknown
from gradcheck_tool.interp import operators, subscripts
from gradcheck_tool.interp.registry import Result, function, lib_name, method
from gradcheck_tool.ir.named_operators import BINARY

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter

_INPLACE = {f"i{name}": op for name, op in BINARY.items()}


def _called(call: Call) -> tuple[str, list[Value]]:
    """The plain name of the operator, and its operands."""
    if isinstance(call.func, Method):
        return call.func.name.strip("_"), [call.receiver, *call.args]
    return lib_name(call.func).removeprefix("operator."), call.args


@function(*(f"operator.{name}" for name in (*BINARY, *_INPLACE)))
@method("tensor", *(f"__{name}__" for name in _INPLACE))
def apply(m: Interpreter, s: State, call: Call) -> Result:
    name, operands = _called(call)
    if len(operands) != 2:
        return unknown()
    left, right = operands
    if name in _INPLACE:
        return operators.inplace(m, s, _INPLACE[name], left, right, call.site, call.text)
    return operators.binary(m, s, BINARY[name], left, right, call.site, call.text)


@function("operator.getitem", "operator.setitem", "operator.delitem")
@method("tensor", "__setitem__")
def subscript(m: Interpreter, s: State, call: Call) -> Result:
    name, operands = _called(call)
    if name == "setitem" and len(operands) == 3:
        obj, index, value = operands
        states = subscripts.put(m, s, obj, index, value, call.site, call.text, augmented=False)
        return [(state, NONE) for state in states]
    if name == "getitem" and len(operands) == 2:
        return subscripts.get(m, s, operands[0], operands[1], call.site)
    if name == "delitem" and len(operands) == 2:
        subscripts.delete(m, s, operands[0], operands[1])
        return NONE
    return unknown()
