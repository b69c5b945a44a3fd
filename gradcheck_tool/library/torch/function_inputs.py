"""Whether the `forward` of a custom `autograd.Function` can be called with what `apply` is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.events import FunctionError
from gradcheck_tool.domain.records import Class, Func, Instance
from gradcheck_tool.domain.values import NONE, Value, unknown
from gradcheck_tool.interp import attributes
from gradcheck_tool.interp.calls import DECORATED
from gradcheck_tool.ir import nodes as ir
from gradcheck_tool.library.torch.function_text import is_class_method

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter


def misfit(m: Interpreter, s: State, cls: Value, call: Call) -> Value | None:
    """What `apply` gives where `forward` cannot take its arguments: Python raises. None where it can.

    A `forward` below a decorator of the repository, or of a library that is not known, may get something
    else, and so may one that takes any number of arguments. How many `*args` there are is often not known
    for certain: then nothing is known.
    """
    record, found = s.get(cls, Class), attributes.in_class(s, cls, "forward")
    func = s.get(attributes.function_of(s, found), Func) if found is not None else None
    if record is None or func is None or call.unsure or call.kwargs or "__wrapped__" in func.attrs:
        return None
    own = attributes.in_class(s, cls, "setup_context") is None
    params = func.function.params[own + is_class_method(s.get(found, Instance)) :]
    if any(p.kind is not ir.ParamKind.POSITIONAL for p in params):
        return None
    needed = sum(p.name not in func.defaults for p in params)
    given = len(call.args)
    if needed <= given <= len(params):
        return None
    if DECORATED in func.attrs or any(
        getattr(arg, "star", "") for arg in getattr(call.site.node, "args", ())
    ):
        return unknown()
    name, most = record.name, len(params)
    if given < needed:
        text = f"{name}.forward() missing {needed - given} required positional argument"
    else:
        text = f"{name}.forward() takes {most + own} positional arguments but {given + own} were given"
    detail = _counted(needed, most, given)
    event = FunctionError(site=call.site, text=text, kind="apply-arguments", function=name, detail=detail)
    m.raise_exception(s, "TypeError", event)
    return NONE


def _counted(least: int, most: int, given: int) -> str:
    """What `forward` takes, and what it is given."""
    takes = str(most) if least == most else f"{least} to {most}"
    return f"takes {takes} arguments besides ctx, and is given {given}"
