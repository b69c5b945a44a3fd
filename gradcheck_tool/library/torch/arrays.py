"""NumPy functions that turn their first argument into an array: tensors that require grad refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import NONE, unknown
from gradcheck_tool.engine.cuts import inherit_deep
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.tensor_numbers import NUMPY, has_graph_for_sure

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import Call, Interpreter

# These convert a tensor.
_CONVERT = (
    "abs",
    "allclose",
    "argmax",
    "argmin",
    "argsort",
    "array",
    "asarray",
    "ascontiguousarray",
    "atleast_1d",
    "atleast_2d",
    "average",
    "ceil",
    "cos",
    "exp",
    "expm1",
    "floor",
    "histogram",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "maximum",
    "median",
    "minimum",
    "nanmean",
    "percentile",
    "quantile",
    "rint",
    "round",
    "sin",
    "tanh",
)
# These convert what a list holds.
_OF_LIST = ("concatenate", "hstack", "stack", "vstack")

# These ask a tensor for its own method first, with arguments that it does not take: without an axis, and
# with one.
_NO_AXIS = "got an unexpected keyword argument 'axis'"
_NO_DIM = "argument 'dim' must be int, not NoneType"
_NO_SUCH = "received an invalid combination of arguments"
_METHODS = {
    **dict.fromkeys(("sum", "mean"), (_NO_AXIS, _NO_AXIS)),
    **dict.fromkeys(("max", "min", "amax", "amin", "prod"), (_NO_DIM, _NO_AXIS)),
    **dict.fromkeys(("std", "var", "any", "all"), (_NO_SUCH, _NO_SUCH)),
}

# These make one floating-point number of all elements.
_AVERAGES = frozenset({"average", "mean", "median", "nanmean", "std", "var"})


@function(*(f"numpy.{name}" for name in (*_CONVERT, *_OF_LIST, *_METHODS)))
def to_array(m: Interpreter, s: State, call: Call) -> Result:
    """The array functions of tensors, and of lists of tensors.

    Raises:
        Raised: where one of them requires grad.
    """
    first = call.args[0] if call.args else None
    name = getattr(call.func, "name", "").rpartition(".")[2]
    given: list[Value | None] = [] if name in _OF_LIST else [first]
    if first is not None and s.get(first, Tensor) is None:
        given += elements(s, first)[0]
    for value in given:
        tensor = s.get(value, Tensor)
        if tensor is not None and tensor.requires_grad and s.grad is True:
            why = f"`{tensor.name}` requires grad"
            text, error = _refusal(name, call) if value is first else (NUMPY, "RuntimeError")
            sure = has_graph_for_sure(s, value)  # type: ignore[arg-type]
            raise engine.refused(
                call.site, tensor, why, text, "numpy-on-grad", str(call.text), error, is_certain=sure
            )
    if name in _AVERAGES and len(call.args) == 1 and not call.kwargs and not call.unsure:
        return inherit_deep(s, unknown("float"), call.args)
    return m.call_unknown(s, call)


def _refusal(name: str, call: Call) -> tuple[str, str]:
    """What is raised for a tensor that requires grad, and the class of it."""
    if name not in _METHODS:
        return NUMPY, "RuntimeError"
    return _METHODS[name][call.get(1, "axis") not in (None, NONE)], "TypeError"
