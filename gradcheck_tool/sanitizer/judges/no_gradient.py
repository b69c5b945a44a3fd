"""A gradient that is None is used like a tensor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from gradcheck_tool.sanitizer.judges.exception import Raised, quoted, step

if TYPE_CHECKING:
    from gradcheck_tool.sanitizer.told import Told

NON_LEAF, TOO_EARLY = "GL302", "GL321"

_OWNER = re.compile(r"([A-Za-z_][\w.]*)\.grad\b")


def judge(raised: Raised) -> Told | None:
    """Tell why the tensor whose `.grad` stands at the place has none."""
    for name in _OWNER.findall(raised.site.text):
        tensor = _value(raised, name)
        if isinstance(tensor, torch.Tensor) and (not tensor.is_leaf or tensor.grad is None):
            return _verdict(raised, name, tensor)
    return None


def _verdict(raised: Raised, name: str, tensor: torch.Tensor) -> Told:
    if not tensor.is_leaf:
        made = raised.made(tensor)
        return raised.told(
            NON_LEAF,
            f"{quoted(raised.site, 'this')} uses `{name}.grad`, but `{name}` comes out of an operation "
            "and gets no gradient",
            step(made, f"`{name}` is computed here, so that it is no leaf", "made"),
        )
    why = "no backward has reached it" if tensor.requires_grad else "it does not require grad"
    return raised.told(TOO_EARLY, f"{quoted(raised.site, 'this')} uses `{name}.grad`, which is None: {why}")


def _value(raised: Raised, name: str) -> Any:
    """What a dotted name means in the user's innermost frame."""
    frame = next(frame for frame in reversed(list(raised.frames)) if frame.f_code is raised.site.frames[0][0])
    first, *rest = name.split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for attribute in rest:
        value = vars(value).get(attribute) if hasattr(value, "__dict__") else None
    return value
