"""Functions that `torch.compile` has compiled: what they do is not seen."""

from __future__ import annotations

import sys
from typing import Any

from gradcheck_tool.sanitizer.sites import absolute, is_program

_RESUMED = "torch_dynamo_resume_in"
"""What the name of a part of a function begins with, after something that is not compiled."""


def compiled_functions() -> list[str]:
    """The compiled functions of the program, each with its file and row."""
    module: Any = sys.modules.get("torch._dynamo.convert_frame")
    codes = (reference() for reference in list(getattr(getattr(module, "output_codes", None), "seen", ())))
    found: dict[str, None] = {}
    for code in codes:
        if code is None or not is_program(code.co_filename) or code.co_name.startswith(_RESUMED):
            continue
        name = getattr(code, "co_qualname", code.co_name).rpartition("<locals>.")[2]
        found[f"`{name}` ({absolute(code.co_filename)}:{code.co_firstlineno})"] = None
    return list(found)
