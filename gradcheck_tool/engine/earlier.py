"""What objects have kept since before the function that is executed on its own.

Only the constructor has run by then. In a program other methods of the same object may have run, too, and
have put something else in the place of what the constructor left there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.graph import Tensor
from gradcheck_tool.domain.records import Class, Instance

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State
    from gradcheck_tool.domain.values import Ref, Value

_FUNCTION = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
# How an attribute gets a value: `a.x = ...`, `a.x += ...`, `for a.x in ...`, `setattr(a, "x", ...)`.
_ASSIGNED = (
    r"^[^\n(#]*\.{0}\b[^=\n()<>!]*=(?!=)"
    r"|\bfor\b[^\n]*\.{0}\b[^\n]*\bin\b"
    r"|\bsetattr\([^\n]*[\"']{0}[\"']"
)


def kept_as(s: State, root: Ref) -> list[tuple[Class, str]]:
    """The attributes, with the classes of their objects, that what is differentiated was in before.

    Constants that are computed later may be computed from any that the functions being executed read.
    """
    if not s.after_body or len(s.frames) < 2:
        return []
    before = s.frames[1].id
    if root.id > before and s[root].detached_because:
        return []
    read = _read(s) if root.id > before else set()
    kept = ((s.get(owner.cls, Class), owner) for _, owner in s.records(Instance))
    return [
        (cls, name)
        for cls, owner in kept
        if cls is not None
        for name, value in owner.attrs.items()
        if (value == root and root.id <= before) or (name in read and _is_constant(s, value, before))
    ]


def _is_constant(s: State, value: Value, before: int) -> bool:
    """Is it a tensor without a graph that was there before?"""
    tensor = s.get(value, Tensor)
    return tensor is not None and tensor.requires_grad is False and value.id <= before  # type: ignore[union-attr]


def _read(s: State) -> set[str]:
    """The attributes that the functions being executed read."""
    functions = (s.fixed(frame).function for frame in s.frames[1:])
    return {name for function in functions for name in function.attributes_read()}


def may_be_replaced(s: State, cls: Class, attribute: str) -> bool:
    """Does any other function of the files in sight assign the attribute?"""
    frame = s.fixed(s.frames[1])
    classes = (s.get(entry, Class) for entry in cls.mro)
    modules = [frame.env.module, *(each.env.module for each in classes if each is not None)]
    own = {"__init__", frame.function.name}
    return any(assigning(module.source, attribute) - own for module in modules)


def assigning(source: str, attribute: str) -> set[str]:
    """The names of the functions that give an attribute of this name a value; '' for code before them."""
    if attribute not in source:
        return set()
    starts = [(0, ""), *((found.start(), found[1]) for found in _FUNCTION.finditer(source))]
    places = re.finditer(_ASSIGNED.format(re.escape(attribute)), source, re.MULTILINE)
    return {next(name for start, name in reversed(starts) if start <= found.start()) for found in places}
