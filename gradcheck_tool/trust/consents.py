"""What the user has consented to: that packs are loaded, as long as their files are as they were."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gradcheck_tool.trust.home import VARIABLE, state_folder, write_private
from gradcheck_tool.trust.packs import UnreadablePackError, content_of
from gradcheck_tool.trust.reading import MEBIBYTE, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER = "trusted"

State = Literal["trusted", "changed", "gone"]


class NoPlaceError(OSError):
    """A consent cannot be kept: there is no folder for it."""

    def __str__(self) -> str:
        """What to do about it."""
        return f"there is no folder to keep consents in; name one in {VARIABLE}"


@dataclass(frozen=True)
class Consent:
    """The user's word about one pack.

    Attributes:
        pack: its folder, without links.
        content: the digest of its files.
        files: how many they were.
    """

    pack: Path
    content: str
    files: int

    @property
    def state(self) -> State:
        """Whether it still counts."""
        if not self.pack.is_dir():
            return "gone"
        return "trusted" if _is_as_it_was(self) else "changed"


def is_trusted(pack: Path) -> bool:
    """Has the user consented to a pack as it is now?"""
    known = _read(pack)
    return known is not None and _is_as_it_was(known)


def consent(pack: Path) -> Consent:
    """Keep the user's consent to a pack as it is now.

    Raises:
        UnreadablePackError: its content cannot be told.
        OSError: the consent cannot be kept.
    """
    real = _real(pack)
    place = place_of(pack)
    if place is None:
        raise NoPlaceError
    given = Consent(real, *content_of(real))
    document = {"pack": str(real), "content": given.content, "files": given.files}
    write_private(place, json.dumps(document).encode())
    return given


def withdraw(folder: Path) -> list[Path]:
    """Forget the consents to packs in a folder and below it.

    Raises:
        OSError: one of them cannot be removed.
    """
    real = _real(folder)
    found = [known for known in consents() if known.pack.is_relative_to(real)]
    for known in found:
        place = place_of(known.pack)
        if place is not None:
            place.unlink(missing_ok=True)
    return [known.pack for known in found]


def consents() -> list[Consent]:
    """All that the user has consented to, by folder."""
    return sorted(_all(), key=lambda known: str(known.pack))


def place_of(pack: Path) -> Path | None:
    """The file that has the consent to a pack, whether there is one or not."""
    folder = state_folder()
    name = hashlib.sha256(os.fsencode(_real(pack))).hexdigest()[:32]
    return None if folder is None else folder / _FOLDER / f"{name}.json"


def _all() -> Iterator[Consent]:
    folder = state_folder()
    with suppress(OSError):
        for place in (folder / _FOLDER).glob("*.json") if folder is not None else ():
            known = _load(place)
            if known is not None and place_of(known.pack) == place:
                yield known


def _read(pack: Path) -> Consent | None:
    place = place_of(pack)
    known = None if place is None else _load(place)
    return known if known is not None and known.pack == _real(pack) else None


def _load(place: Path) -> Consent | None:
    try:
        data = json.loads(read_file(place, MEBIBYTE))
        return Consent(Path(str(data["pack"])), str(data["content"]), int(data["files"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _is_as_it_was(known: Consent) -> bool:
    try:
        return content_of(known.pack)[0] == known.content
    except UnreadablePackError:
        return False


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))
