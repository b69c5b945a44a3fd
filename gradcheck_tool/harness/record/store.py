"""Recorded calls on disk: one file for a call, in a folder for each Function, in the cache folder."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

from gradcheck_tool.harness.record.places import folder_of
from gradcheck_tool.writing import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.harness.record.calls import RecordedCall


def save(cache: Path, call: RecordedCall, name: str) -> None:
    """Write a call; one of the same name is replaced. The first line says whose it is without PyTorch.

    Raises:
        OSError: where the folder cannot be written.
    """
    folder = folder_of(cache, call.qualname)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{name}.call", lasting=False) as file:
        file.write(json.dumps([f"{call.module}.{call.qualname}", call.problem]).encode() + b"\n")
        pickle.dump(call, file, protocol=pickle.HIGHEST_PROTOCOL)


def load(cache: Path, qualname: str) -> list[RecordedCall]:
    """The calls of all Functions with this qualified name, in a stable order, but for unreadable ones."""
    found = map(_read, sorted(folder_of(cache, qualname).glob("*.call")))
    return [call for call in found if call is not None]


def _read(path: Path) -> RecordedCall | None:
    """The call in one file; None where another version of the tool or a crash left something else."""
    from gradcheck_tool.harness.record.calls import RecordedCall

    try:
        with path.open("rb") as file:
            file.readline()
            call = pickle.load(file)  # noqa: S301 - written by the recorder, read by the same user
    except Exception:  # noqa: BLE001 - whatever pickle makes of a broken file
        return None
    return call if isinstance(call, RecordedCall) else None
