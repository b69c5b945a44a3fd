"""The folder in which gradlint keeps what the user has said: consents, and the key of the caches.

No file of a checked tree lies there, so that no tree can say anything in the user's name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gradcheck_tool.writing import write_atomically

VARIABLE = "GRADLINT_STATE_DIR"
"""The environment variable that names another folder, by its absolute path."""


def state_folder() -> Path | None:
    """The folder, which need not be there; None where the user has no home."""
    named = _absolute(os.environ.get(VARIABLE, ""))
    if named is not None:
        return named
    base = _base()
    return None if base is None else base / "gradlint"


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step by one that only the user can read.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, data, private=True)


def _base() -> Path | None:
    # An empty HOME would be taken for the root of all files.
    home = None if os.environ.get("HOME") == "" else _absolute(os.path.expanduser("~"))  # noqa: PTH111
    if sys.platform == "win32":
        return _absolute(os.environ.get("LOCALAPPDATA", "")) or home
    if home is not None and sys.platform == "darwin":
        return home / "Library" / "Application Support"
    chosen = _absolute(os.environ.get("XDG_STATE_HOME", ""))
    return chosen or (None if home is None else home / ".local" / "state")


def _absolute(text: str) -> Path | None:
    """A path that means the same in every folder; another one would lead into the checked tree."""
    return Path(text) if os.path.isabs(text) else None  # noqa: PTH117
