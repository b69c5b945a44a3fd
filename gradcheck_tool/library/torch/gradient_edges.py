"""`torch.autograd.graph.get_gradient_edge`: where the gradient of a tensor goes, to be asked for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool import engine
from gradcheck_tool.domain.records import Instance
from gradcheck_tool.domain.values import NONE, LibraryObject, Ref, Value, unknown
from gradcheck_tool.interp.registry import Result, function
from gradcheck_tool.library.torch.tensor_values import as_tensor

if TYPE_CHECKING:
    from gradcheck_tool.domain.graph import Tensor
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter


@function("torch.autograd.graph.get_gradient_edge")
def gradient_edge(m: Interpreter, s: State, call: Call) -> Result:
    """A stand-in for the tensor with the history that it has now, whatever is written to it later.

    Raises:
        Raised: for a tensor that does not require grad.
    """
    ref = as_tensor(m, s, call.get(0, "tensor") or NONE, call.site)
    if ref is None:
        return unknown()
    engine.refresh_view(s, ref)
    tensor: Tensor = s[ref]
    if tensor.requires_grad is False and not tensor.unsure_graph:
        raise engine.Raised(None)
    held = ref
    if tensor.grad_fn is not None:
        held = engine.new_tensor(
            s,
            tensor.site,
            requires_grad=tensor.requires_grad,
            leaf=False,
            dtype=tensor.dtype,
            shape=tensor.shape,
            name=tensor.name,
        )
        s[held].grad_fn = tensor.grad_fn
    return s.new(Instance(LibraryObject("torch.autograd.graph.GradientEdge"), {"#tensor": held}, open=True))


def tensor_of(s: State, value: Value) -> Value:
    """The stand-in where a value is a gradient edge; any other value as it is."""
    record = s.get(value, Instance)
    held = record.attrs.get("#tensor") if record is not None else None
    return held if isinstance(held, Ref) else value
