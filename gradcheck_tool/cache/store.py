"""The cache folder: files in it are replaced as a whole, so that runs at the same time see either the old
one or the new one, and whatever cannot be read, or was not written by this user, is empty.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.cache.folder import ForeignCacheError, why_foreign
from gradcheck_tool.config import CACHE_FOLDER
from gradcheck_tool.trust.reading import MOST_OF_CACHES, read_file, read_program
from gradcheck_tool.trust.signing import signed, verified
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
        return digest(read_program(path))
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
        OSError: it cannot be written, or is not gradlint's.
    """
    reason = why_foreign(cache)
    if reason is not None:
        raise ForeignCacheError(cache, reason)
    cache.mkdir(parents=True, exist_ok=True)
    for name, text in _MARKERS.items():
        if not _has_content(cache / name):
            write_atomically(cache / name, text, lasting=False)


@dataclass(frozen=True)
class Cleaned:
    """What became of a cache: removed with so many files, or left for a reason."""

    folder: Path
    files: int
    left: str | None = None


def remove_caches(folder: Path) -> Iterator[Cleaned]:
    """Delete every cache of gradlint's in a folder and below it, and yield what was done."""
    for parent, folders, files in os.walk(folder):
        if CACHE_FOLDER in folders:
            folders.remove(CACHE_FOLDER)
        elif CACHE_FOLDER not in files:
            continue
        yield remove_cache(Path(parent, CACHE_FOLDER))


def remove_cache(cache: Path) -> Cleaned:
    """Delete one cache folder, if it is gradlint's."""
    import shutil

    reason = why_foreign(cache)
    if reason is not None:
        return Cleaned(cache, 0, reason)
    count = sum(len(files) for _, _, files in os.walk(cache))
    try:
        shutil.rmtree(cache)
    except OSError as error:
        return Cleaned(cache, 0, f"{error.filename}: {error.strerror}")
    return Cleaned(cache, count)


def read_entries(path: Path) -> dict[str, Any]:
    """What is in a file of a cache; nothing where it is missing, damaged or not of this user's making."""
    try:
        body = verified(str(path), read_file(path, MOST_OF_CACHES))
        loaded = None if body is None else json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def write(cache: Path, path: Path, entries: dict[str, Any]) -> None:
    """Replace a file in a cache folder. Failing to is no error."""
    data = signed(str(path), json.dumps(entries, separators=(",", ":"), default=str).encode())
    if data is None:
        return
    with suppress(OSError):
        mark(cache)
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, data, lasting=False)


def forget_oldest(cache: Path, pattern: str, kept: int) -> None:
    """Remove all but the newest of some files of a cache folder. Failing to is no error."""
    with suppress(OSError):
        if why_foreign(cache) is None:
            for path in sorted(cache.glob(pattern), key=os.path.getmtime)[:-kept]:
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
