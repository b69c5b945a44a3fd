"""The tensor that a refused call is about, by the source text of the call and the variables of its frame."""

from __future__ import annotations

import ast
import dis
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradcheck_tool.sanitizer.sites import source_lines, whole_row
from gradcheck_tool.sanitizer.unseen import unseen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    from gradcheck_tool.findings import Location


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor that a place names.

    Attributes:
        is_it: whether it is the very tensor that something is done with; else that is computed from it.
    """

    tensor: Tensor
    is_it: bool = True


@unseen
def receiver(
    frame: FrameType, place: Location, fits: Callable[[Tensor], bool] = lambda _: True
) -> Named | None:
    """The tensor whose method or operator stands at a place, or the first one that a function is given.

    It is the first one that `fits`.
    """
    node = _parsed(place)
    if isinstance(node, (ast.Expr, ast.Return)):
        node = node.value
    return next((one for one in _named(frame, node) if fits(one.tensor)), None)


@unseen
def node_read(frame: FrameType, place: Location) -> Any:
    """The node of the graph an attribute of which is read at a place."""
    for one in ast.walk(_parsed(place) or ast.Pass()):
        if isinstance(one, ast.Attribute):
            owner = _value(frame, one.value)
            if hasattr(owner, "next_functions"):
                return owner
    return None


def bound_at(frame: FrameType, held: Any) -> Location | None:
    """The place that gives the variable its value that holds something, where there is only one."""
    code = frame.f_code
    names = [name for name, value in frame.f_locals.items() if _holds(value, held)]
    if len(names) != 1 or names[0] in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return None
    row, rows = 0, set()
    for one in dis.get_instructions(code):
        row = _row_of(code, one.offset) or row
        if one.opname.startswith("STORE_") and one.argval == names[0]:
            rows.add(row)
    return whole_row(code.co_filename, rows.pop()) if len(rows) == 1 else None


def _holds(value: Any, held: Any) -> bool:
    return value is held or (type(value) in (list, tuple) and any(one is held for one in value))


def _parsed(place: Location) -> ast.AST | None:
    """The expression or statement of a place."""
    lines = source_lines(place)
    text = "\n".join(lines).strip()
    with suppress(SyntaxError):
        return ast.parse(f"({text})" if len(lines) > 1 else text).body[0]
    return None


def _named(frame: FrameType, node: ast.AST | None) -> Iterator[Named]:
    """The tensors of an expression: that of its receiver, then those of its arguments, calls last."""
    if isinstance(node, ast.AugAssign):
        parts: list[ast.AST] = [node.target, node.value]
    elif isinstance(node, ast.Assign):
        parts = [node.targets[0], node.value]
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        arguments = [*node.args, *(one.value for one in node.keywords)]
        yield from _of_receiver(frame, node)
        yield from (
            one for part in arguments if not isinstance(part, ast.Call) for one in _named(frame, part)
        )
        calls = (one for part in arguments if isinstance(part, ast.Call) for one in _named(frame, part))
        yield from (replace(one, is_it=False) for one in calls)
        return
    else:
        value = _value(frame, node)
        if isinstance(value, Tensor):
            yield Named(value)
        return
    for part in parts:
        yield from _named(frame, part)


def _of_receiver(frame: FrameType, call: ast.Call) -> Iterator[Named]:
    """The tensors of what stands before the dot of a method."""
    if isinstance(call.func, ast.Attribute):
        inner = call.func.value
        changes = isinstance(inner, ast.Call) and not _is_in_place(inner)
        yield from (replace(one, is_it=one.is_it and not changes) for one in _named(frame, inner))


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
