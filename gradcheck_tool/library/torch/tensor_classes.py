"""Classes of the program that derive from tensors: what calling one of them makes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradcheck_tool.domain.values import LibraryObject, Ref, unknown
from gradcheck_tool.interp import attributes

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.interp.api import Call, Interpreter, Outcomes

_PARAMETER = "torch.nn.Parameter"
_TENSORS = frozenset({"torch.Tensor", _PARAMETER, "torch.nn.Buffer", "torch.nn.UninitializedParameter"})


def made_tensor(m: Interpreter, s: State, cls: Ref, call: Call) -> Outcomes | None:
    """A Parameter, where the class adds nothing to how one is made; what `__new__` makes is not known.

    None for other classes.
    """
    bases = attributes.lib_bases(s, cls)
    if _TENSORS.isdisjoint(bases):
        return None
    makes_itself = any(attributes.in_class(s, cls, name) for name in ("__new__", "__init__"))
    if makes_itself or bases[0] != _PARAMETER:
        return m.call_unknown(s, replace(call, func=unknown()))
    return m.call(s, LibraryObject(_PARAMETER), call.args, call.kwargs, call.site, call.text, call.unsure)
