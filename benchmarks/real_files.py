"""The Python files and notebooks of folders, each content once."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha1
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def real_files(folders: Iterable[Path]) -> Iterator[tuple[Path, Path, bytes]]:
    """Each file with its folder and its bytes, by their names; what cannot be read is left out."""
    known: set[bytes] = set()
    for folder in folders:
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.ipynb")]):
            with suppress(OSError):
                data = path.read_bytes()
                digest = sha1(data, usedforsecurity=False).digest()
                if digest not in known:
                    known.add(digest)
                    yield path, folder, data
