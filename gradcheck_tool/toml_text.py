"""Parsing TOML that may be anybody's: it takes no time without end, and what is none is one kind of error."""

from __future__ import annotations

import re
import sys
from typing import Any

# The parsers take minutes for keys of many parts.
_PARTS = 100
_ENDLESS_KEY = re.compile(rf"""(?<![\w-])(?:[\w-]+["']?[ \t]*\.[ \t]*["']?){{{_PARTS}}}""")


class NotTomlError(ValueError):
    """A text is no TOML."""


def parse_toml(text: str) -> dict[str, Any]:
    """The table that a text describes.

    Raises:
        NotTomlError: it describes none.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if _ENDLESS_KEY.search(text):
        raise NotTomlError(f"not TOML: a key has more than {_PARTS} parts")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotTomlError(f"not TOML: {error}") from error
