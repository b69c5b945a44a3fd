"""Where recorded calls lie, and what their first lines say; known without PyTorch."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from gradcheck_tool.cache.store import digest

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "recorded"


def folder_of(cache: Path, qualname: str) -> Path:
    """The folder of all Functions with this qualified name, in whatever module."""
    readable = "".join(c if c.isalnum() else "_" for c in qualname)[:60]
    return cache / FOLDER / f"{readable}-{digest(qualname.encode())[:8]}"


def written_since(cache: Path, moment_ns: int) -> list[tuple[str, str | None]]:
    """Names of Functions, and why a call could not be stored if so, for every call written since a moment.

    Args:
        cache: the cache folder.
        moment_ns: as `time.time_ns` gives it.
    """
    found = []
    for path in sorted((cache / FOLDER).glob("*/*.call")):
        with suppress(OSError, ValueError), path.open("rb") as file:
            if path.stat().st_mtime_ns >= moment_ns:
                name, problem = json.loads(file.readline())
                found.append((name, problem))
    return found
