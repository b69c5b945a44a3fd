"""Functions that `torch.compile` has compiled: what they do is not seen."""

from __future__ import annotations

import linecache
import sys
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import Location, Position
from gradcheck_tool.report.not_watched import COMPILED, NotWatched
from gradcheck_tool.sanitizer.sites import absolute, is_program

if TYPE_CHECKING:
    from types import CodeType

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


def _first_line(code: CodeType) -> Location:
    line = linecache.getline(code.co_filename, code.co_firstlineno).rstrip("\n")
    indent = len(line) - len(line.lstrip())
    row = code.co_firstlineno
    return Location(
        absolute(code.co_filename), Position(row, indent + 1), Position(row, max(len(line), indent + 1) + 1)
    )
