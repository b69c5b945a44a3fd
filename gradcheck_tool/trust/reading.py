"""Reading files of a checked tree: regular ones of a bounded size. No read hangs or fills the memory."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 1 << 20
# Configurations, baselines and ignore files are written by hand, or hold a line for each finding.
MOST_OF_SETTINGS = 10 * MEBIBYTE
MOST_OF_PROGRAMS = 10 * MEBIBYTE
# Notebooks hold images.
MOST_OF_NOTEBOOKS = 64 * MEBIBYTE
MOST_OF_CACHES = 256 * MEBIBYTE

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class RefusedFileError(OSError):
    """A file is not read: it is none, or holds more than any file of its kind does."""

    def __init__(self, reason: str, path: Path) -> None:
        super().__init__(0, reason, str(path))

    def __str__(self) -> str:
        """The reason alone: who tells it names the file."""
        return self.strerror or ""


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a regular file.

    Args:
        path: the file, or a link to it.
        most: bytes that it may have.

    Raises:
        RefusedFileError: it is a pipe, a device or a folder, or has more bytes.
        OSError: it cannot be read.
    """
    # A pipe that nobody writes to opens at once with these flags.
    handle = os.open(path, _FLAGS)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise RefusedFileError(f"it is {_kind(status.st_mode)}, not a file", path)
        # Files of /proc have no size, and a file may grow.
        data = file.read(most + 1) if status.st_size <= most else b""
    if len(data) > most or status.st_size > most:
        raise RefusedFileError(f"it has more than {most // MEBIBYTE} MiB, and is not read", path)
    return data


def read_program(path: Path) -> bytes:
    """The bytes of a Python file or a notebook; see `read_file`."""
    return read_file(path, MOST_OF_NOTEBOOKS if path.suffix == ".ipynb" else MOST_OF_PROGRAMS)


def _kind(mode: int) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
