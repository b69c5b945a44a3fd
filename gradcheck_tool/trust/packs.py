"""The content of a pack, which a consent is bound to: rules and models in a folder of a checked tree."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.trust.reading import MOST_OF_PROGRAMS, RefusedFileError, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

# Folders that Python fills while a pack is used. Nothing in them is loaded: see `gradcheck_tool.importing`.
_PASSED_OVER = "__pycache__"
# A pack is some files that a person can look through.
_MOST_FILES = 2000


class UnreadablePackError(OSError):
    """The content of a pack cannot be told, so that nobody can consent to it."""

    def __str__(self) -> str:
        """The place and the reason."""
        return f"{self.filename}: {self.strerror}"


def content_of(pack: Path) -> tuple[str, int]:
    """The digest of all files of a pack, by their names, and how many they are.

    Raises:
        UnreadablePackError: it holds a link to a folder, something that is no file, or too much.
    """
    seen = hashlib.sha256()
    names = sorted(_files(str(pack)))
    if len(names) > _MOST_FILES:
        raise UnreadablePackError(0, f"it has more than {_MOST_FILES} files", str(pack))
    for name in names:
        label = os.fsencode(os.path.relpath(name, pack))
        data = _data(name)
        for part in (label, data):
            seen.update(len(part).to_bytes(8, "big") + part)
    return seen.hexdigest(), len(names)


def _files(folder: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise UnreadablePackError(0, error.strerror, folder) from error
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _PASSED_OVER:
                yield from _files(entry.path)
        elif os.path.isdir(entry.path):  # noqa: PTH112
            # What is behind it could change, and be loaded, without a change of the pack.
            raise UnreadablePackError(0, "it is a link to a folder", entry.path)
        else:
            yield entry.path


def _data(name: str) -> bytes:
    try:
        return read_file(Path(name), MOST_OF_PROGRAMS)
    except (OSError, RefusedFileError) as error:
        raise UnreadablePackError(0, error.strerror, name) from error
