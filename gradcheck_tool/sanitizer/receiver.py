"""The tensor that a refused call is about, by the source text of the call and the variables of its frame."""

from __future__ import annotations

import ast
import dis
import linecache
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.sanitizer.sites import source_lines
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from types import CodeType, FrameType


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor that a place names.

    Attributes:
        is_it: whether it is the very tensor that something is done with; else that is computed from it.
    """

    tensor: Tensor
    is_it: bool = True


@unseen
def receiver(frame: FrameType, place: Location) -> Named | None:
    """The tensor whose method or operator stands at a place, or the first one that a function is given."""
    node = _parsed(place)
    if isinstance(node, (ast.Expr, ast.Return)):
        node = node.value
    if isinstance(node, (ast.AugAssign, ast.Assign)):
        found = _named(frame, node.target if isinstance(node, ast.AugAssign) else node.targets[0])
        return found or _named(frame, node.value)
    return _named(frame, node)


def bound_at(frame: FrameType, tensor: Tensor) -> Location | None:
    """The place that gives the variable its value that holds a tensor, where there is only one such place."""
    code = frame.f_code
    names = [name for name, value in frame.f_locals.items() if value is tensor]
    if len(names) != 1 or names[0] in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return None
    row, rows = 0, set()
    for one in dis.get_instructions(code):
        row = _row_of(code, one.offset) or row
        if one.opname.startswith("STORE_") and one.argval == names[0]:
            rows.add(row)
    return _line(code.co_filename, rows.pop()) if len(rows) == 1 else None


def _parsed(place: Location) -> ast.AST | None:
    """The expression or statement of a place."""
    lines = source_lines(place)
    text = "\n".join(lines).strip()
    with suppress(SyntaxError):
        return ast.parse(f"({text})" if len(lines) > 1 else text).body[0]
    return None


def _named(frame: FrameType, node: ast.AST | None) -> Named | None:
    """The first tensor of an expression: that of its receiver, or of its arguments that are no calls."""
    if isinstance(node, ast.BinOp):
        return _named(frame, node.left) or _named(frame, node.right)
    if not isinstance(node, ast.Call):
        value = _value(frame, node)
        return Named(value) if isinstance(value, Tensor) else None
    if isinstance(node.func, ast.Attribute):
        owner = _named(frame, node.func.value)
        if owner is not None:
            inner = node.func.value
            changes = isinstance(inner, ast.Call) and not _is_in_place(inner)
            return replace(owner, is_it=False) if changes else owner
    arguments = (*node.args, *(one.value for one in node.keywords))
    values = (_value(frame, one) for one in arguments)
    return next((Named(value) for value in values if isinstance(value, Tensor)), None)


def _is_in_place(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")


def _value(frame: FrameType, node: ast.AST | None) -> Any:
    """What a name, an attribute or an item is: the tensor itself for those of a tensor."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, (ast.Attribute, ast.Subscript)):
        return None
    owner = _value(frame, node.value)
    if isinstance(owner, Tensor):
        return owner
    if isinstance(node, ast.Subscript):
        with suppress(LookupError, TypeError):
            return owner[_value(frame, node.slice)] if type(owner) in (list, tuple, dict) else None
        return None
    return (
        None if isinstance(getattr(type(owner), node.attr, None), property) else _attribute(owner, node.attr)
    )


def _attribute(owner: Any, name: str) -> Any:
    """An attribute that stands in an object, or in a module; nothing of the program is called."""
    held = getattr(owner, "__dict__", {})
    for names in (
        held,
        held.get("_parameters") or {},
        held.get("_buffers") or {},
        held.get("_modules") or {},
    ):
        if name in names:
            return names[name]
    return None


def _row_of(code: CodeType, offset: int) -> int | None:
    return next((row for first, last, row in code.co_lines() if first <= offset < last), None)


def _line(filename: str, row: int) -> Location:
    line = linecache.getline(filename, row).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    return Location(filename, Position(row, indent + 1), Position(row, len(line) + 1))
