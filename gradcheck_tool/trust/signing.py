"""Tells what this user has written from what lies in a checked tree: by a tag that needs the user's key."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from gradcheck_tool.trust.home import VARIABLE, state_folder, write_private
from gradcheck_tool.trust.reading import read_file

if TYPE_CHECKING:
    from pathlib import Path

_NAME = "cache.key"
_SIZE = 32


class NoKeyError(OSError):
    """Nothing can be signed: there is no folder for the key."""

    def __str__(self) -> str:
        """What to do about it."""
        return f"there is no folder for the user's key; name one in {VARIABLE}"


def signed(place: str, body: bytes) -> bytes | None:
    """A body with the tag of the user for one place; None where no key can be kept.

    Args:
        place: the file that is written, so that no other can take its place.
        body: what is written.
    """
    tag = _tag(place, body)
    return None if tag is None else tag + b"\n" + body


def verified(place: str, data: bytes) -> bytes | None:
    """The body of what `signed` gave for a place; None for anything else."""
    tag, _, body = data.partition(b"\n")
    return body if tag and tag == _tag(place, body) else None


def _tag(place: str, body: bytes) -> bytes | None:
    folder = state_folder()
    key = None if folder is None else _key(folder / _NAME)
    if key is None:
        return None
    head = place.encode(errors="surrogateescape")
    seen = hashlib.blake2b(len(head).to_bytes(8, "big") + head, key=key, digest_size=32)
    seen.update(body)
    return seen.hexdigest().encode()


@cache
def _key(path: Path) -> bytes | None:
    """The user's key, made where there is none; None where none can be kept."""
    known = _read(path)
    if known is None:
        with suppress(OSError):
            write_private(path, os.urandom(_SIZE))
        known = _read(path)
    return known


def _read(path: Path) -> bytes | None:
    """A key that nobody else can read or has written."""
    try:
        status = path.lstat()
        data = read_file(path, _SIZE)
    except OSError:
        return None
    shared = os.name == "posix" and (status.st_uid != os.geteuid() or bool(status.st_mode & 0o077))
    return data if len(data) == _SIZE and stat.S_ISREG(status.st_mode) and not shared else None
