"""Functions that `torch.compile` has compiled: what they do is not seen. Ours it leaves as they are."""

from __future__ import annotations

import inspect
import linecache
import sys
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

import torch

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.report.not_watched import COMPILED, NotWatched
from gradcheck_tool.sanitizer.sites import absolute, is_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_PACKAGE = "gradcheck_tool."
_DESCRIPTORS = (property, cached_property, staticmethod, classmethod)
_RESUMED = "torch_dynamo_resume_in"
"""What the name of a part of a function begins with, after something that is not compiled."""


def compiled_functions() -> list[NotWatched]:
    """The compiled functions of the program."""
    module: Any = sys.modules.get("torch._dynamo.convert_frame")
    codes = (reference() for reference in list(getattr(getattr(module, "output_codes", None), "seen", ())))
    found: dict[NotWatched, None] = {}
    for code in codes:
        if code is None or not is_program(code.co_filename) or code.co_name.startswith(_RESUMED):
            continue
        name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]
        found[NotWatched(name, COMPILED, _first_line(code))] = None
    return list(found)


def compile_none_of_ours() -> None:
    """What runs between parts of a compiled function is compiled, too: our functions are not."""
    skip = _skip()
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGE):
            for code in _codes_in(vars(module).values(), name):
                skip(code)


def _skip() -> Callable[[CodeType], None]:
    """What marks code that is not to be compiled; its name depends on the version."""
    compiler: Any = torch._C._dynamo.eval_frame
    if hasattr(compiler, "skip_code"):
        return cast("Callable[[CodeType], None]", compiler.skip_code)
    action = compiler._FrameAction
    strategy = compiler._FrameExecStrategy(action.SKIP, action.DEFAULT)
    return lambda code: compiler.set_code_exec_strategy(code, strategy)


def _codes_in(values: Iterable[Any], module: str) -> Iterator[CodeType]:
    """The code of the functions of a module, of those of its classes, and of those in them."""
    for value in values:
        if isinstance(value, CodeType):
            yield value
            yield from _codes_in(value.co_consts, module)
            continue
        function = _function_of(value) if isinstance(value, _DESCRIPTORS) else value
        if getattr(function, "__module__", None) != module:
            continue
        if isinstance(function, type):
            yield from _codes_in(vars(function).values(), module)
        else:
            parts = (function, inspect.unwrap(function))
            yield from _codes_in([one.__code__ for one in parts if hasattr(one, "__code__")], module)


def _function_of(descriptor: Any) -> Any:
    names = ("__func__", "fget", "func")
    return next((getattr(descriptor, name) for name in names if hasattr(descriptor, name)), None)


def _first_line(code: CodeType) -> Location:
    line = linecache.getline(code.co_filename, code.co_firstlineno).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    row = code.co_firstlineno
    return Location(
        absolute(code.co_filename), Position(row, indent + 1), Position(row, max(len(line), indent + 1) + 1)
    )
