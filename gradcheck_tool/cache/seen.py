"""What a run looked at in the file system, and whether that still is as it was."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cache.store import digest, stamp
from gradcheck_tool.config import CACHE_FOLDER, FILE_NAMES
from gradcheck_tool.sources.discover import IGNORE_FILES, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What a walk looks for in a folder, beside folders.
_NAMES = frozenset((*FILE_NAMES, *IGNORE_FILES))
# Folders that hold nothing to check, and come and go.
_PASSED_OVER = frozenset((CACHE_FOLDER, "__pycache__"))

# Nanoseconds within which a file may change twice without another time: where times are fine, and where
# a time of full seconds tells that they may be coarse.
_TICK = 100_000_000
_COARSE_TICK = 2_000_000_000


@dataclass(frozen=True)
class State:
    """What was seen, at one moment.

    `settled` is the time (nanoseconds since the epoch) from when on a change would show.
    """

    digest: str
    settled: int


@dataclass(frozen=True)
class Seen:
    """Everything in the file system that the outcome of a run depends on.

    Attributes:
        folders: folders that were walked: what programs and folders they hold, and what leaves some out.
        paths: paths that were read, or looked for and perhaps not found.
        packs: folders of rules.
    """

    folders: tuple[str, ...]
    paths: tuple[str, ...]
    packs: tuple[str, ...]

    @classmethod
    def of(cls, folders: Iterable[Path], paths: Iterable[Path], packs: Iterable[Path]) -> Seen:
        """The same with as few paths as tell it."""
        walked = set(map(str, folders))
        gone: dict[Path, bool] = {}
        nearest = {_first_missing(path, gone) for path in paths}
        outside = {
            str(path) for path in nearest if not (str(path.parent) in walked and _is_listed(path, gone[path]))
        }
        return cls(tuple(sorted(walked)), tuple(sorted(outside)), tuple(sorted(set(map(str, packs)))))

    def state(self) -> State:
        """How all of it is now.

        Raises:
            OSError: a folder cannot be listed.
        """
        times: list[int] = [0]
        lines = [line for folder in self.folders for line in _listing(folder, times)]
        lines += [_line(path, times) for path in self.paths]
        lines += [stamp((Path(pack),)) for pack in self.packs]
        return State(digest("\n".join(lines).encode(errors="surrogateescape")), max(times))


def _first_missing(path: Path, gone: dict[Path, bool]) -> Path:
    """The path, or the outermost folder on the way to it that is not there."""
    if path not in gone:
        gone[path] = not os.path.lexists(path)
    if not gone[path] or path == path.parent:
        return path
    around = _first_missing(path.parent, gone)
    return around if gone[around] else path


def _is_listed(path: Path, gone: bool) -> bool:
    """Whether a listing of the folder shows a change of this path; what is gone may be a folder one day."""
    return path.name in _NAMES or path.name.endswith(SUFFIXES) or (gone and not path.suffix)


def _listing(folder: str, times: list[int]) -> Iterator[str]:
    yield folder
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name == ".git":
                    found += [_line(os.path.join(folder, name), times) for name in IGNORE_FILES]  # noqa: PTH118
                if entry.name not in _PASSED_OVER:
                    found.append(entry.name)
            elif entry.name in _NAMES or entry.name.endswith(SUFFIXES):
                found.append(_line(entry.path, times))
    yield from sorted(found)


def _line(path: str, times: list[int]) -> str:
    """One path; of a folder it tells no more than that it is one."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return f"{path}\0"
    if stat.S_ISDIR(status.st_mode):
        return f"{path}/"
    # The time of the last change of the file's node cannot be set back.
    times += (_settled(status.st_mtime_ns), _settled(status.st_ctime_ns))
    return f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}"


def _settled(time: int) -> int:
    return time + (_TICK if time % 1_000_000_000 else _COARSE_TICK)
