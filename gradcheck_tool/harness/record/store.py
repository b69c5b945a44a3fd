"""Recorded calls on disk: one file for a call, in a folder for each Function, in the cache folder."""

from __future__ import annotations

import os
import pickle
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.harness.record.places import FOLDER, folder_of

if TYPE_CHECKING:
    from gradcheck_tool.harness.record.calls import RecordedCall


def save(cache: Path, call: RecordedCall, name: str) -> None:
    """Write a call; one of the same name is replaced.

    Raises:
        OSError: where the folder cannot be written.
    """
    folder = folder_of(cache, call.qualname)
    folder.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        pickle.dump(call, file, protocol=pickle.HIGHEST_PROTOCOL)
    Path(temporary).replace(folder / f"{name}.call")


def discard(cache: Path, qualname: str, name: str) -> None:
    """Forget one call."""
    (folder_of(cache, qualname) / f"{name}.call").unlink(missing_ok=True)


def load(cache: Path, qualname: str) -> list[RecordedCall]:
    """The calls of all Functions with this qualified name, in a stable order, but for unreadable ones."""
    return [call for path in sorted(folder_of(cache, qualname).glob("*.call")) if (call := read(path))]


def written_since(cache: Path, moment_ns: int) -> list[RecordedCall]:
    """The calls that were written at or after a moment (of `time.time_ns`)."""
    found = []
    for path in sorted((cache / FOLDER).glob("*/*.call")):
        with suppress(OSError):
            if path.stat().st_mtime_ns >= moment_ns and (call := read(path)):
                found.append(call)
    return found


def read(path: Path) -> RecordedCall | None:
    """The call in one file; None where another version of the tool or a crash left something else."""
    from gradcheck_tool.harness.record.calls import RecordedCall

    try:
        call = pickle.loads(path.read_bytes())  # noqa: S301 - written by the recorder, run by the same user
    except Exception:  # noqa: BLE001 - whatever pickle makes of a broken file
        return None
    return call if isinstance(call, RecordedCall) else None
