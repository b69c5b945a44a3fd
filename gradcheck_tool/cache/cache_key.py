"""What names the tool in the keys of its caches."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

from gradcheck_tool import __version__
from gradcheck_tool.cache.store import stamp
from gradcheck_tool.rulebook.builtin import builtin_pack


@cache
def identity() -> tuple[object, ...]:
    """The version, the Python it runs on, and the state of its code: a checkout changes without a version."""
    return (__version__, sys.version_info[:2], stamp((Path(__file__).parents[1], builtin_pack())))
