"""NumPy functions that turn their first argument into an array: tensors that require grad refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.values import unknown
from gradcheck_tool.engine.cuts import inherit_deep
from gradcheck_tool.interp.iteration import elements
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.tensor_numbers import NUMPY

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Value
    from gradcheck_tool.interp.api import Call, Interpreter

# These convert a tensor; the others below ask it for a method of the same name first.
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
_OF_LIST = ("concatenate", "hstack", "max", "mean", "min", "prod", "stack", "std", "sum", "var", "vstack")

# These make one floating-point number of all elements.
_AVERAGES = frozenset({"average", "mean", "median", "nanmean", "std", "var"})


@function(*(f"numpy.{name}" for name in (*_CONVERT, *_OF_LIST)))
def to_array(m: Interpreter, s: State, call: Call) -> Result:
    """The array functions of tensors, and of lists of tensors.

    Raises:
        Raised: where one of them requires grad.
    """
    first = call.args[0] if call.args else None
    name = getattr(call.func, "name", "").rpartition(".")[2]
    given: list[Value | None] = [first] if name in _CONVERT else []
    if first is not None and s.get(first, Tensor) is None:
        given += elements(s, first)[0]
    for value in given:
        tensor = s.get(value, Tensor)
        if tensor is not None and tensor.requires_grad and s.grad is True:
            raise engine.refused(
                call.site, tensor, f"`{tensor.name}` requires grad", NUMPY, "numpy-on-grad", str(call.text)
            )
    if name in _AVERAGES and len(call.args) == 1 and not call.kwargs and not call.unsure:
        return inherit_deep(s, unknown("float"), call.args)
    return m.call_unknown(s, call)
