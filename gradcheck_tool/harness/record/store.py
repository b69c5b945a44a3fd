"""Recorded calls on disk: one file for a call, in a folder for each Function, in the cache folder."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

from gradcheck_tool.cache.folder import why_foreign
from gradcheck_tool.cache.store import mark
from gradcheck_tool.harness.record.places import folder_of
from gradcheck_tool.trust.signing import NoKeyError, signed, verified
from gradcheck_tool.writing import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.harness.record.calls import RecordedCall


def save(cache: Path, call: RecordedCall, name: str) -> None:
    """Write a call; one of the same name is replaced. The first line says whose it is without PyTorch.

    Raises:
        OSError: the folder cannot be written, or is not gradlint's; the user has no key.
    """
    folder = folder_of(cache, call.qualname)
    mark(cache)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.call"
    data = signed(str(path), pickle.dumps(call, protocol=pickle.HIGHEST_PROTOCOL))
    if data is None:
        raise NoKeyError
    with replacing(path, lasting=False) as file:
        file.write(json.dumps([f"{call.module}.{call.qualname}", call.problem]).encode() + b"\n")
        file.write(data)


def load(cache: Path, qualname: str) -> list[RecordedCall]:
    """The calls of all Functions with this qualified name, in a stable order, but for unreadable ones.

    Those that this user has not recorded are not read either: to unpickle a call runs code.
    """
    if why_foreign(cache) is not None:
        return []
    found = map(_read, sorted(folder_of(cache, qualname).glob("*.call")))
    return [call for call in found if call is not None]


def _read(path: Path) -> RecordedCall | None:
    """The call in one file; None where another version of the tool or a crash left something else."""
    from gradcheck_tool.harness.record.calls import RecordedCall

    try:
        with path.open("rb") as file:
            file.readline()
            body = verified(str(path), file.read())
        call = None if body is None else pickle.loads(body)  # noqa: S301 - this user has recorded it
    except Exception:  # noqa: BLE001 - whatever pickle makes of a broken file
        return None
    return call if isinstance(call, RecordedCall) else None
