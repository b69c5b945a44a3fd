"""The source of a function as a tree."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def parsed(function: Any) -> tuple[ast.FunctionDef | None, int]:
    """The definition of a function, and the row of its file on which that begins.

    The definition is None where the source is not at hand or holds none, as that of a lambda.
    """
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None, 0
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None), first
