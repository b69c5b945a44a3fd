"""Files are replaced as a whole: whatever ends the run, there is the old file or the new one, no other."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from gradcheck_tool.ending import undoing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Names of what is open already: there is nothing to replace.
_OPEN = ("/dev/fd/", "/dev/std", "/proc/")
# The process that writes, and something that no other file has.
_TEMPORARY = ".gradlint-{}-{}.tmp"


def write_atomically(path: Path, data: bytes | str, *, lasting: bool = True, private: bool = False) -> None:
    """Put something in the place of what a file has; see `replacing`.

    Text is UTF-8, with escapes for what is no character: names of files may hold that.

    Raises:
        OSError: it cannot be written; the file is as it was.
    """
    with replacing(path, lasting=lasting, private=private) as file:
        file.write(data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data)


@contextmanager
def replacing(path: Path, *, lasting: bool = True, private: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` when the block ends, and is gone if it does not get there.

    The mode stays, and so do the owner and the group where this user may set them. The target of a link is
    what changes; other names of the same file (hard links) keep what they had. What is no regular file, such
    as a pipe, is written to as it is.

    Args:
        path: the file, in a folder that exists.
        lasting: the content is on the disk before the old one goes, so that it survives a power cut.
        private: whatever is there, be it a link, gives way to a file of this user that nobody else can read.

    Raises:
        OSError: it cannot be written, or nobody may write it (mode 0444); the file is as it was.
    """
    if not private and _is_stream(path):
        with path.open("wb") as stream:
            yield stream
        return
    target = path if private else path.resolve()
    old = None if private else _writable(target)
    temporary = target.with_name(_TEMPORARY.format(os.getpid(), os.urandom(8).hex()))
    with undoing(lambda: _remove(temporary)):
        try:
            with open(temporary, "xb", opener=_opener(0o600 if private else _mode(old))) as file:
                yield file
                file.flush()
                if lasting:
                    os.fsync(file.fileno())
            if old is not None:
                _take_over(temporary, old)
            temporary.replace(target)
        except BaseException:
            _remove(temporary)
            raise


def remove_left_behind(folder: Path) -> None:
    """Remove what processes that were killed while they wrote (SIGKILL) have left in a folder.

    Failing to is no error.
    """
    if os.name != "posix":
        return
    for path in folder.glob(_TEMPORARY.format("*", "*")):
        number = path.name.split("-")[1]
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            _remove(path)
        except (OSError, ValueError, OverflowError):
            continue


def _is_stream(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return str(path.absolute()).startswith(_OPEN) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _writable(target: Path) -> os.stat_result | None:
    """The state of a file that is to be replaced; None where there is none.

    Raises:
        PermissionError: it may not be written. Replacing it would only take the folder's permission.
    """
    try:
        old = target.stat()
    except FileNotFoundError:
        return None
    if not old.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "the file is read-only", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    return old


def _mode(old: os.stat_result | None) -> int:
    """Nobody may read the new file who might not read the old one, not even for a moment."""
    return 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777


def _opener(mode: int) -> Callable[[str, int], int]:
    return lambda name, flags: os.open(name, flags, mode)


def _take_over(temporary: Path, old: os.stat_result) -> None:
    """Give a file the owner, the group and the mode of another, as far as this user may."""
    if hasattr(os, "chown"):
        for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
            with suppress(OSError):
                os.chown(temporary, owner, group)
    with suppress(OSError):  # file systems without modes refuse
        temporary.chmod(stat.S_IMODE(old.st_mode))


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink()
