"""The cache folder: files in it are replaced as a whole, so that runs at the same time see either the old
one or the new one, and whatever cannot be read is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sources.discover import CACHE_FOLDER
from gradcheck_tool.writing import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MARKERS = {".gitignore": "*\n", "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"}


def digest(data: bytes) -> str:
    """A short name for these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_file(path: Path) -> str | None:
    """The digest of a file's bytes; None when they cannot be had."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return None


def stamp(folders: Iterable[Path]) -> str:
    """Names the state of the code in some folders: sizes and times of their Python and data files."""
    seen = hashlib.blake2b(digest_size=16)
    for folder in folders:
        for line in sorted(_code_files(str(folder))):
            seen.update(line.encode(errors="surrogateescape"))
    return seen.hexdigest()


def mark(cache: Path) -> None:
    """Make the cache folder, with the files that keep it out of git and out of backups.

    Raises:
        OSError: it cannot be written.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for name, text in _MARKERS.items():
        if not _has_content(cache / name):
            write_atomically(cache / name, text, lasting=False)


def remove_caches(folder: Path) -> Iterator[Path]:
    """Delete every cache in a folder and below it, and yield where they were."""
    import shutil

    for parent, folders, _ in os.walk(folder):
        if CACHE_FOLDER in folders:
            folders.remove(CACHE_FOLDER)
            found = Path(parent, CACHE_FOLDER)
            shutil.rmtree(found, ignore_errors=True)
            yield found


def read_entries(path: Path) -> dict[str, Any]:
    """What is in a file of the cache; nothing where it is missing or damaged."""
    try:
        loaded = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def write(path: Path, entries: dict[str, Any]) -> None:
    """Replace a file of the cache. Failing to is no error."""
    with suppress(OSError):
        mark(path.parent)
        write_atomically(path, json.dumps(entries, separators=(",", ":")), lasting=False)


def forget_oldest(files: Iterable[Path], kept: int) -> None:
    """Remove all but the newest of some files of the cache. Failing to is no error."""
    with suppress(OSError):
        for path in sorted(files, key=os.path.getmtime)[:-kept]:
            path.unlink()


def _has_content(path: Path) -> bool:
    """Whether there is more than an empty file, which a full disk may once have left."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _code_files(folder: str) -> Iterator[str]:
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():  # noqa: PTH112
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _code_files(entry.path)
        elif entry.name.endswith((".py", ".json")):
            with suppress(OSError):
                status = entry.stat()
                yield f"{entry.path}\0{status.st_size}\0{status.st_mtime_ns}\n"
