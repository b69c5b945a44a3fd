"""What memory held at some moment: all of it while there is room for that, else a checksum.

The checksum of large memory is one of parts of it: where that is another one, the memory is, too.
"""

from __future__ import annotations

import ctypes
import zlib
from dataclasses import dataclass
from typing import Any

import torch

from gradcheck_tool.sanitizer.memory import a_share
from gradcheck_tool.sanitizer.unseen import unseen

_ROOM = 1 << 25
"""So many bytes are kept at a time, or what `a_share` is if that is more."""
_ENTIRELY_UP_TO = 1 << 26
"""The checksum of more bytes is one of parts."""
_PARTS, _PART = 256, 1 << 16
"""So many parts of that many bytes, as far apart as they can be."""
_no_dispatch: Any = torch._C._DisableTorchDispatch


class Image:
    """What a piece of memory held.

    Attributes:
        content: all of it; None where there was no room for it.
    """

    __slots__ = ("_checksum", "_images", "content")

    def __init__(self, address: int, size: int, images: Images) -> None:
        self._images = images
        self.content: bytes | None = None
        self._checksum = 0
        if images.has_room(size):
            images.taken += size
            self.content = ctypes.string_at(address, size)
        else:
            self._checksum = _checksum(address, size)

    def __del__(self) -> None:
        """Leave the room to others."""
        if self.content is not None:
            self._images.taken -= len(self.content)

    def differs(self, address: int, size: int) -> bool:
        """Does memory of this size hold something else?"""
        if self.content is None:
            return _checksum(address, size) != self._checksum
        return ctypes.string_at(address, size) != self.content

    @unseen
    def memory(self) -> torch.UntypedStorage | None:
        """Memory that holds the same; None where there was no room to keep that."""
        if self.content is None:
            return None
        size = len(self.content)
        with _no_dispatch():
            storage = torch.empty(size, dtype=torch.uint8, device="cpu").untyped_storage()
        ctypes.memmove(storage.data_ptr(), self.content, size)
        return storage


@dataclass(slots=True)
class Images:
    """All images of a process; `taken` is how many bytes they have."""

    taken: int = 0

    def of(self, address: int, size: int) -> Image:
        """What this memory holds."""
        return Image(address, size, self)

    def has_room(self, size: int) -> bool:
        """Can so many bytes more be kept?"""
        wanted = self.taken + size
        return wanted <= _ROOM or wanted <= a_share()


def _checksum(address: int, size: int) -> int:
    if size <= _ENTIRELY_UP_TO:
        return zlib.crc32((ctypes.c_char * size).from_address(address)) if size else 0
    found = 0
    for index in range(_PARTS):
        start = (size - _PART) * index // (_PARTS - 1)
        found = zlib.crc32((ctypes.c_char * _PART).from_address(address + start), found)
    return found
