"""Where recorded calls lie; known without PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.cache.store import digest

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "recorded"


def folder_of(cache: Path, qualname: str) -> Path:
    """The folder of all Functions with this qualified name, in whatever module."""
    readable = "".join(c if c.isalnum() else "_" for c in qualname)[:60]
    return cache / FOLDER / f"{readable}-{digest(qualname.encode())[:8]}"
