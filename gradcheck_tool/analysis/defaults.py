"""What the defaults and the names of parameters tell of ordinary calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.domain.records import Class, Dict, Func, Instance
from gradcheck_tool.domain.values import Const, LibraryObject, Value
from gradcheck_tool.library.torch.module_tree import is_module

if TYPE_CHECKING:
    from gradcheck_tool.domain.state import State

# What holds the settings of a program is called so.
_SETTINGS = re.compile(
    r"(?:^|_)(?:args|opts?|cfg|conf|config|configuration|hparams?|hps|hyper_?params?|flags|settings)$"
)


def is_usual_default(s: State, default: Value) -> bool:
    """Is a default what ordinary calls have: a number, something to call, or a configuration?"""
    if isinstance(default, Const):
        return isinstance(default.value, float)
    is_callable = s.get(default, Class) is not None or s.get(default, Func) is not None
    made = s.get(default, Instance)
    is_made = (made is not None and is_module(s, made)) or _is_configuration(s, default)
    return is_callable or isinstance(default, LibraryObject) or is_made


def holds_settings(name: str, default: Value | None, *, constructs: bool) -> bool:
    """Is a parameter what a program is set up with?

    Args:
        name: what the parameter is called.
        default: its default, if it has one.
        constructs: whether it is one of a constructor, where a number by default stays one.
    """
    is_number = isinstance(default, Const) and type(default.value) is int
    return _SETTINGS.search(name) is not None or (constructs and is_number)


def _is_configuration(s: State, value: Value) -> bool:
    """Is it a dictionary of names and constants, such as `dict(type="ReLU", inplace=True)`?"""
    table = s.get(value, Dict)
    items = (*table.items, *table.items.values()) if table is not None else ()
    return bool(items) and all(isinstance(item, Const) for item in items)
