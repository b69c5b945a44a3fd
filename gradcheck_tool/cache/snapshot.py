"""What a command printed, for as long as nothing that it looked at changes.

To print it again costs no more than to look at times and sizes: no program is read.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from gradcheck_tool.cache.folder import why_foreign
from gradcheck_tool.cache.schema import each, number, table, text
from gradcheck_tool.cache.seen import Seen
from gradcheck_tool.cache.store import digest, forget_oldest, read_entries, write
from gradcheck_tool.config import CACHE_FOLDER

if TYPE_CHECKING:
    from pathlib import Path

# Commands of which the last output stays remembered.
KEPT = 16


@dataclass(frozen=True)
class Printed:
    """What went to standard output and to standard error, and the exit status."""

    out: str
    err: str
    status: int


class Snapshot:
    """The last run of one command: of the same tool in the same folder, asked for the same."""

    def __init__(self, folder: Path, asked: object, cache: Path | None = None) -> None:
        """`folder` is where the command runs; the text of `asked` tells commands apart.

        `cache` is the cache folder that the command names. The snapshot has to be made before the command
        looks at anything.
        """
        self._name = f"run-{digest(repr((str(folder), asked)).encode(errors='surrogateescape'))}.json"
        self._folder = folder
        self._cache = cache
        self._started = time.time_ns()

    def load(self) -> Printed | None:
        """What was printed, if everything is as it was.

        The cache lies at the root of the project, which is known only once the configurations are read.
        """
        above = (parent / CACHE_FOLDER for parent in (self._folder, *self._folder.parents))
        for cache in above if self._cache is None else (self._cache,):
            entries = read_entries(cache / self._name)
            if entries and not why_foreign(cache):
                return _unchanged(entries)
        return None

    def save(self, cache: Path, seen: Seen, printed: Printed) -> None:
        """Remember what was printed, unless a file may have changed since it was looked at.

        Args:
            cache: the cache folder: in the folder where the command runs, above it, or the named one.
            seen: what the output depends on.
            printed: the output.
        """
        try:
            state = seen.state()
        except OSError:
            return
        if state.settled >= self._started:
            return
        told = {"seen": asdict(seen), "state": state.digest, "printed": asdict(printed)}
        write(cache, cache / self._name, told)
        forget_oldest(cache, "run-*.json", KEPT)


def _unchanged(entries: dict[str, Any]) -> Printed | None:
    try:
        known = table(entries, frozenset({"seen", "state", "printed"}))
        seen = Seen(**{key: each(known["seen"][key], text) for key in table(known["seen"], _SEEN)})
        printed = table(known["printed"], _PRINTED)
        told = Printed(text(printed["out"]), text(printed["err"]), number(printed["status"]))
        return told if seen.state().digest == known["state"] else None
    except (OSError, ValueError):
        return None


_SEEN = frozenset(field.name for field in fields(Seen))
_PRINTED = frozenset(field.name for field in fields(Printed))
