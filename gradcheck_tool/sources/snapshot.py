"""What a whole run found, for as long as nothing that it looked at changes.

To use it again costs no more than to look at times and sizes: no program is read.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gradcheck_tool.sources.cache import FOLDER, digest, read_entries, write
from gradcheck_tool.sources.packing import pack, unpack
from gradcheck_tool.sources.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gradcheck_tool.findings import Finding

# Runs with other options and paths, of which the latest stay remembered.
KEPT = 16


@dataclass(frozen=True)
class Found:
    """The findings of a run, how many files it checked, and how many findings a baseline has."""

    findings: tuple[Finding, ...]
    files: int
    known: int


class Snapshot:
    """The outcome of the last run of one kind: of the same tool in the same folder, asked for the same."""

    def __init__(self, folder: Path, asked: object) -> None:
        """`folder` is where the command runs; the text of `asked` tells runs of other kinds apart."""
        self._name = f"run-{digest(repr((str(folder), asked)).encode())}.json"
        self._folder = folder
        self._started = time.time_ns()

    def load(self) -> Found | None:
        """What was found, if everything is as it was.

        The cache lies at the root of the project, which nobody knows before reading configurations.
        """
        for parent in (self._folder, *self._folder.parents):
            entries = read_entries(parent / FOLDER / self._name)
            if entries:
                return _unchanged(entries)
        return None

    def save(self, root: Path, seen: Seen, found: Found) -> None:
        """Remember what was found, unless a file may have changed since it was looked at.

        Args:
            root: the folder with the cache: where the command runs or above it.
            seen: what the outcome hangs on.
            found: the outcome.
        """
        try:
            state = seen.state()
        except OSError:
            return
        if state.settled >= self._started:
            return
        cache = root / FOLDER
        entries = {**asdict(seen), "state": state.digest, "files": found.files, "known": found.known}
        write(cache / self._name, {**entries, "findings": [pack(finding) for finding in found.findings]})
        _forget_oldest(cache.glob("run-*.json"))


def _unchanged(entries: dict[str, Any]) -> Found | None:
    try:
        seen = Seen(tuple(entries["folders"]), tuple(entries["paths"]), tuple(entries["packs"]))
        if seen.state().digest != entries["state"]:
            return None
        findings = tuple(map(unpack, entries["findings"]))
        return Found(findings, int(entries["files"]), int(entries["known"]))
    except (LookupError, OSError, TypeError, ValueError):
        return None


def _forget_oldest(snapshots: Iterable[Path]) -> None:
    with suppress(OSError):
        for path in sorted(snapshots, key=os.path.getmtime)[:-KEPT]:
            path.unlink()
