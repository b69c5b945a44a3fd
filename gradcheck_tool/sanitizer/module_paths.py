"""Which modules are being called: their path within the outermost one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

CALL = "_wrapped_call_impl"
"""The function of PyTorch that calls a module."""


def called_path(frame: FrameType | None) -> str:
    """The path from the outermost module that is being called to the innermost one."""
    called: list[Any] = []
    while frame is not None:
        if frame.f_code.co_name == CALL:
            called.append(frame.f_locals.get("self"))
        frame = frame.f_back
    path = [_name_in(parent, child) for child, parent in pairwise(called)]
    return ".".join(filter(None, reversed(path)))


def _name_in(parent: Any, child: Any) -> str:
    """The shortest name of a module in another one; empty if it is none of its parts.

    Most are called by what has them: large models are not searched to their end for that.
    """
    if parent is child:
        return ""
    level, seen = [("", parent)], {id(parent)}
    while level:
        below = []
        for prefix, module in level:
            for name, part in module._modules.items():
                if part is child:
                    return f"{prefix}{name}"
                if part is not None and id(part) not in seen:
                    seen.add(id(part))
                    below.append((f"{prefix}{name}.", part))
        level = below
    return ""
