"""Code outside of Python and PyTorch that a Function runs: it may trust sizes, and end the process.

Extension modules, ctypes, cffi and numba check less than PyTorch does. A call that does not fit (one more
number, a stride) may then read or write anywhere.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAREFUL = {"torch", "numpy", "scipy", "triton", "einops", *sys.stdlib_module_names} - {"ctypes", "_ctypes"}
"""Packages whose native code checks what it is given; Triton's kernels are told apart elsewhere."""
_CARELESS = {"ctypes", "_ctypes", "cffi", "_cffi_backend", "numba", "pybind11_builtins", "cupy"}
_METHODS = ("forward", "setup_context", "backward", "vjp")
_DEPTH = 3
"""Functions called by functions that are looked into."""


def native_code(klass: Any) -> str | None:
    """The name of native code that forward or backward of `klass` reaches by name, if there is any."""
    seen: set[int] = set()
    pending = [(f, 0) for name in _METHODS if (f := getattr(klass, name, None)) is not None]
    while pending:
        function, depth = pending.pop()
        function = getattr(function, "__func__", function)
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        for name, thing in _named(function):
            if _is_native(thing):
                return name
            if depth < _DEPTH and isinstance(thing, FunctionType) and _top(thing) not in _CAREFUL:
                pending.append((thing, depth + 1))
    return None


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What the code of a function names: globals, and attributes of the modules among them."""
    space, names = function.__globals__, function.__code__.co_names
    for name in names:
        if name not in space:
            if name in _CARELESS:  # imported by the function itself, or the address of an array's memory
                yield name, sys.modules.get(name)
            continue
        thing = space[name]
        yield name, thing
        if isinstance(thing, ModuleType) and _top(thing) not in _CAREFUL:
            yield from ((f"{name}.{n}", vars(thing)[n]) for n in names if n in vars(thing))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a name that is assigned later has an empty cell
            yield name, cell.cell_contents


def _is_native(thing: Any) -> bool:
    if isinstance(thing, ModuleType):
        if _top(thing) in _CARELESS:
            return True
        origin = str(getattr(thing, "__file__", None) or "")
        return origin.endswith((".so", ".pyd", ".dylib")) and _top(thing) not in _CAREFUL
    if isinstance(thing, BuiltinFunctionType):
        return _top(thing) not in _CAREFUL and _top(thing) != "builtins"
    return type(thing).__module__.partition(".")[0] in _CARELESS


def _top(thing: Any) -> str:
    """The package that something is from."""
    name = thing.__name__ if isinstance(thing, ModuleType) else getattr(thing, "__module__", None)
    return str(name or "builtins").partition(".")[0]
