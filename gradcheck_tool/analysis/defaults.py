"""What the defaults and the names of parameters tell of ordinary calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Dict, Func, Instance
from gradcheck_tool.domain.values import Const, LibraryObject, Value
from gradcheck_tool.library.torch.module_tree import is_module

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State


def is_usual_default(s: State, default: Value) -> bool:
    """Is a default what ordinary calls have: a number, something to call, or a configuration?"""
    if isinstance(default, Const):
        return isinstance(default.value, float)
    is_callable = s.get(default, Class) is not None or s.get(default, Func) is not None
    made = s.get(default, Instance)
    is_made = (made is not None and is_module(s, made)) or _is_configuration(s, default)
    return is_callable or isinstance(default, LibraryObject) or is_made


def is_whole_number(default: Value | None) -> bool:
    """Is a default a whole number? What has one in a constructor stays one."""
    return isinstance(default, Const) and type(default.value) is int


def _is_configuration(s: State, value: Value) -> bool:
    """Is it a dictionary of names and constants, such as `dict(type="ReLU", inplace=True)`?"""
    table = s.get(value, Dict)
    items = (*table.items, *table.items.values()) if table is not None else ()
    return bool(items) and all(isinstance(item, Const) for item in items)
