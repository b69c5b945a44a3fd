"""The result cache: what checking a file gave, for as long as nothing that it depends on changes.

One JSON file for each way of checking (tool, rules, configuration). It is replaced as a whole, so that
runs at the same time see either the old or the new one; whatever cannot be read is an empty cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.findings import (
    Applicability,
    Edit,
    Finding,
    Fix,
    Location,
    Position,
    Severity,
    TraceStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FOLDER = ".gradlint_cache"
_MARKERS = {".gitignore": "*\n", "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"}

# `(importer, dotted name, dots)` of an import, and the digest of what it led to (None: no such file).
Import = tuple[str, str, int]
Dependency = tuple[Import, str | None]
Resolve = Callable[[Import], str | None]


def digest(data: bytes) -> str:
    """A short name for these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def digest_file(path: Path) -> str | None:
    """The digest of a file's bytes; None when they cannot be had."""
    try:
        return digest(path.read_bytes())
    except OSError:
        return None


def stamp(folders: Iterable[Path]) -> str:
    """Names the state of the code in some folders: sizes and times of their Python and data files."""
    seen = hashlib.blake2b(digest_size=16)
    for folder in folders:
        for path, size, time in sorted(_code_files(str(folder))):
            seen.update(f"{path}\0{size}\0{time}\n".encode())
    return seen.hexdigest()


def mark(cache: Path) -> None:
    """Make the cache folder, with the files that keep it out of git and out of backups.

    Raises:
        OSError: it cannot be written.
    """
    cache.mkdir(parents=True, exist_ok=True)
    for name, text in _MARKERS.items():
        if not (cache / name).exists():
            (cache / name).write_text(text, encoding="utf-8")


class ResultCache:
    """Results of one way of checking.

    Entries are `[digest, dependencies, findings]` by file name.
    """

    def __init__(self, root: Path, key: str) -> None:
        """`root` is the folder that gets a `.gradlint_cache`; `key` names the way of checking."""
        self._folder = root / FOLDER
        self._path = self._folder / f"{key}.json"
        self._entries = _load(self._path)
        self._new: dict[str, list[Any]] = {}

    def get(self, filename: str, content: str, resolve: Resolve) -> tuple[Finding, ...] | None:
        """The findings of a file, if neither it nor what it depends on has changed.

        Args:
            filename: absolute path.
            content: digest of the file's bytes.
            resolve: digest of what an import leads to now.
        """
        entry = self._entries.get(filename)
        try:
            if entry is None or entry[0] != content:
                return None
            if any(resolve((name, dotted, level)) != found for (name, dotted, level), found in entry[1]):
                return None
            return tuple(map(_finding, entry[2]))
        except (LookupError, TypeError, ValueError):
            return None

    def put(
        self, filename: str, content: str, dependencies: Sequence[Dependency], findings: Sequence[Finding]
    ) -> None:
        """Remember a result until `save`."""
        packed = [[list(asked), found] for asked, found in dependencies]
        self._new[filename] = [content, packed, [_packed(finding) for finding in findings]]

    def save(self) -> None:
        """Write what is new beside what other runs have written since. Failing to is no error."""
        if not self._new:
            return
        kept = {name: entry for name, entry in _load(self._path).items() if os.path.exists(name)}  # noqa: PTH110
        with suppress(OSError):
            mark(self._folder)
            handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({**kept, **self._new}, file, separators=(",", ":"))
            os.replace(temporary, self._path)  # noqa: PTH105
        self._new.clear()


def remove_caches(folder: Path) -> Iterator[Path]:
    """Delete every cache in a folder and below it, and yield where they were."""
    for parent, folders, _ in os.walk(folder):
        if FOLDER in folders:
            folders.remove(FOLDER)
            found = Path(parent, FOLDER)
            shutil.rmtree(found, ignore_errors=True)
            yield found


def _load(path: Path) -> dict[str, list[Any]]:
    try:
        loaded = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _code_files(folder: str) -> Iterator[tuple[str, int, int]]:
    for parent, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in names:
            if name.endswith((".py", ".json")):
                path = os.path.join(parent, name)  # noqa: PTH118
                with suppress(OSError):
                    status = os.stat(path)  # noqa: PTH116
                    yield path, status.st_size, status.st_mtime_ns


def _packed(finding: Finding) -> list[Any]:
    """A static finding as JSON; the run-time engine's fields are not cached."""
    fix = finding.fix
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        _packed_location(finding.location),
        finding.predicts,
        [[_packed_location(step.location), step.message] for step in finding.trace],
        fix
        and [
            fix.applicability.value,
            fix.message,
            [
                [edit.content, edit.start.row, edit.start.column, edit.end.row, edit.end.column]
                for edit in fix.edits
            ],
        ],
        finding.url,
    ]


def _finding(packed: list[Any]) -> Finding:
    code, name, severity, message, location, predicts, trace, fix, url = packed
    return Finding(
        code=code,
        name=name,
        severity=Severity(severity),
        message=message,
        location=_location(location),
        predicts=predicts,
        trace=tuple(TraceStep(_location(place), text) for place, text in trace),
        fix=None
        if fix is None
        else Fix(
            Applicability(fix[0]),
            fix[1],
            tuple(Edit(text, Position(a, b), Position(c, d)) for text, a, b, c, d in fix[2]),
        ),
        url=url,
    )


def _packed_location(location: Location) -> list[Any]:
    start, end = location.start, location.end
    return [location.filename, start.row, start.column, end.row, end.column, location.cell]


def _location(packed: list[Any]) -> Location:
    filename, row, column, end_row, end_column, cell = packed
    return Location(filename, Position(row, column), Position(end_row, end_column), cell)
