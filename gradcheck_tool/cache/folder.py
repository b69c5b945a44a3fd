"""Whether a cache folder is one of gradlint's: a link, or a folder with other files in it, is left alone."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from gradcheck_tool.trust.links import leads_out

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# What gradlint makes in a cache folder, by its path there. Runs that were killed leave drafts.
_OURS = re.compile(
    r"\.gitignore|CACHEDIR\.TAG"
    r"|(?:(?:check|run)-\w+|gradcheck/[0-9a-f]+)\.json"
    r"|recorded/\w+-[0-9a-f]+/\w+\.call"
    r"|(?:gradcheck/|recorded/\w+-[0-9a-f]+/)?\.?[\w.-]+\.tmp"
)
_OUR_FOLDERS = re.compile(r"gradcheck|recorded|recorded/\w+-[0-9a-f]+")


class ForeignCacheError(OSError):
    """A cache folder is not gradlint's, and is left alone."""

    def __init__(self, cache: Path, reason: str) -> None:
        super().__init__(0, f"not used as a cache: {reason}", str(cache))

    def __str__(self) -> str:
        """The folder and the reason."""
        return f"{self.filename}: {self.strerror}"


def why_foreign(cache: Path) -> str | None:
    """Why a cache folder is neither used nor cleaned; None where it is ours, or not there yet.

    Args:
        cache: absolute.
    """
    if not os.path.lexists(cache):
        return leads_out(cache, cache.parent)
    if cache.is_symlink():
        return "it is a link"
    if not cache.is_dir():
        return "it is no folder"
    try:
        foreign = next(_foreign(str(cache), ""), None)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if foreign is not None:
        return f"it holds {foreign}, which gradlint has not made"
    return leads_out(cache, cache.parent)


def _foreign(folder: str, prefix: str) -> Iterator[str]:
    """What in a folder is not ours, by its path in the cache."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                if _OUR_FOLDERS.fullmatch(name):
                    yield from _foreign(entry.path, f"{name}/")
                else:
                    yield name
            elif not (entry.is_file(follow_symlinks=False) and _OURS.fullmatch(name)):
                yield name
