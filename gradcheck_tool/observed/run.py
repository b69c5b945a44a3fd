"""The file that `gradlint run --save` writes and `gradlint check --with-run` reads.

It is a file of its own, beside the JSON of findings: that is a list of what is reported, and to say that
something was not reached or did not happen takes the lines that ran, and findings that nobody wants reported.
Files are named relative to the folder of the run where they are below it: the run may be another machine's.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.trust.reading import MOST_OF_CACHES, read_file, read_program
from gradcheck_tool.writing import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1

Rows = dict[str, dict[int, list[int]]]
"""For each file and row: when something happened there, as a count that goes up with each line that runs."""


class NotARunError(ValueError):
    """A file is none that `gradlint run --save` wrote."""


@dataclass(slots=True)
class ObservedProcess:
    """What one process of a run did, as far as it was watched.

    Attributes:
        lines: when each line of the user's files began, the first times.
        raised: what left each line as an exception.
        needed: when a backward needed what a line had saved.
    """

    lines: Rows = field(default_factory=dict)
    raised: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    needed: Rows = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ObservedProcess:
        """What `to_json` gave, after it was JSON."""
        return cls(**{name: _with_rows(data[name]) for name in cls.__slots__})

    def renamed(self, names: Mapping[str, str]) -> ObservedProcess:
        """With other names of files."""
        return ObservedProcess(
            **{
                name: {names.get(file, file): rows for file, rows in getattr(self, name).items()}
                for name in self.__slots__
            }
        )


@dataclass(slots=True)
class ObservedRun:
    """A run that was watched.

    Attributes:
        findings: all of them, as JSON has them.
        processes: what its processes did.
        digests: of the files whose lines ran, as they were then.
    """

    findings: list[dict[str, Any]]
    processes: list[ObservedProcess]
    digests: dict[str, str]

    @property
    def unchanged(self) -> set[str]:
        """The files that are still as they were in the run."""
        return {name for name, digest in self.digests.items() if _digest(name) == digest}


def write(
    path: Path, folder: Path, findings: list[dict[str, Any]], processes: Iterable[ObservedProcess]
) -> None:
    """Save a run that went on in a folder.

    Raises:
        OSError: the file cannot be written.
    """
    known = list(processes)
    files = {name for process in known for name in process.lines}
    names = {name: _relative(name, folder) for name in files}
    data = {
        "format": FORMAT,
        "findings": [_placed(one, lambda name: _relative(name, folder)) for one in findings],
        "processes": [process.renamed(names).to_json() for process in known],
        "digests": {names[name]: _digest(name) for name in sorted(files)},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(data))


def read(path: Path, folder: Path) -> ObservedRun:
    """Read a run, in the folder that takes the place of the run's.

    Raises:
        OSError: the file cannot be read.
        NotARunError: it is no such file.
    """
    try:
        data = json.loads(read_file(path, MOST_OF_CACHES))
        if data["format"] != FORMAT:
            raise NotARunError
        names = {name: str(folder / name) for name in data["digests"]}
        return ObservedRun(
            [_placed(one, lambda name: str(folder / name)) for one in data["findings"]],
            [ObservedProcess.from_json(process).renamed(names) for process in data["processes"]],
            {names[name]: digest for name, digest in data["digests"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotARunError from None


def _placed(finding: dict[str, Any], name: Any) -> dict[str, Any]:
    """A finding with other names of files."""
    trace = [{**step, "filename": name(step["filename"])} for step in finding["trace"]]
    return {**finding, "filename": name(finding["filename"]), "trace": trace}


def _relative(name: str, folder: Path) -> str:
    path = Path(name)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else name


def _digest(name: str) -> str:
    try:
        return hashlib.sha256(read_program(Path(name))).hexdigest()
    except OSError:
        return ""


def _with_rows(files: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[int, Any]]:
    return {name: {int(row): value for row, value in rows.items()} for name, rows in files.items()}
