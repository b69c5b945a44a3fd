"""Results of earlier runs, by the Function's source, its inputs and the version of PyTorch.

A file for each Function, in `.gradlint_cache`. Whatever cannot be read is no result.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradcheck_tool
from gradcheck_tool.cache.folder import why_foreign
from gradcheck_tool.cache.store import digest, digest_file, read_entries, stamp, write
from gradcheck_tool.harness.inputs.files import fingerprint, sample_files
from gradcheck_tool.harness.outcomes import Outcome, pack_case, pack_finding, unpack_case, unpack_finding

if TYPE_CHECKING:
    from gradcheck_tool.harness.discovery import Discovery
    from gradcheck_tool.harness.settings import Settings
    from gradcheck_tool.harness.units import Unit

FOLDER = "gradcheck"


class Results:
    """Looks up and remembers the outcomes of units.

    An outcome depends on the file of the Function and every file of the repository that it imports, on
    compiled extensions in its package, on declared and recorded inputs, on the settings, on PyTorch and
    on gradlint itself.
    """

    def __init__(self, cache: Path, settings: Settings, discovery: Discovery) -> None:
        """`cache` is the `.gradlint_cache` folder."""
        self._cache = cache
        self._discovery = discovery
        package = Path(gradcheck_tool.__file__).parent
        chosen = {key: value for key, value in asdict(settings).items() if key not in _WITHOUT_EFFECT}
        self._common = json.dumps(
            [stamp([package]), torch_version(), platform.python_version(), chosen], default=str
        )
        self._digests: dict[Path, str | None] = {}
        self._extensions: dict[str, str] = {}

    def get(self, unit: Unit) -> Outcome | None:
        """The outcome of an earlier run, if nothing that it depends on has changed."""
        try:
            data = {} if why_foreign(self._cache) else read_entries(self._path(unit))
            if not data or data["key"] != self._key(unit):
                return None
            return replace(_unpack(unit, data["outcome"]), cached=True)
        except (ValueError, LookupError, TypeError, AttributeError):
            return None

    def put(self, outcome: Outcome) -> None:
        """Keep an outcome; forget the one before it, if this one does not last. Failing to is no error."""
        path = self._path(outcome.unit)
        if not outcome.lasting:
            with suppress(OSError):
                if why_foreign(self._cache) is None:
                    path.unlink(missing_ok=True)
            return
        write(self._cache, path, {"key": self._key(outcome.unit), "outcome": _pack(outcome)})

    def _path(self, unit: Unit) -> Path:
        return _entry(self._cache, unit.ref.filename, unit.name)

    def _key(self, unit: Unit) -> str:
        files = self._discovery.dependencies(Path(unit.ref.filename))
        for path in sample_files(unit.ref):
            files |= self._discovery.dependencies(path)
        contents = [f"{path}:{self._digest(path)}" for path in sorted(files)]
        parts = [self._common, *contents, self._compiled(unit.ref.root), fingerprint(unit.ref, self._cache)]
        return digest("\n".join(parts).encode())

    def _digest(self, path: Path) -> str | None:
        if path not in self._digests:
            self._digests[path] = digest_file(path)
        return self._digests[path]

    def _compiled(self, root: str) -> str:
        """The state of the compiled extensions below a root that is no environment's `site-packages`."""
        if root not in self._extensions:
            found = [] if Path(root).name == "site-packages" else sorted(_extensions(Path(root)))
            self._extensions[root] = digest("\n".join(found).encode())
        return self._extensions[root]


@dataclass(frozen=True, slots=True)
class LastResult:
    """What the last run kept of a unit, whether or not something has changed since.

    Attributes:
        codes: of its findings, each once.
        cause: why it was not checked, if it was not.
        when: when that was, in seconds since the epoch.
    """

    codes: tuple[str, ...]
    cause: str
    when: float


def last_result(cache: Path, filename: str, name: str) -> LastResult | None:
    """The last result of the unit of this name of a file; None where there is none."""
    path = _entry(cache, filename, name)
    try:
        when = path.stat().st_mtime
        outcome = {} if why_foreign(cache) else read_entries(path)["outcome"]
        found = [unpack_finding(finding).code for finding in outcome["findings"]]
        return LastResult(tuple(dict.fromkeys(found)), str(outcome["cause"] or ""), when)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _entry(cache: Path, filename: str, name: str) -> Path:
    return cache / FOLDER / f"{digest(f'{filename}::{name}'.encode())}.json"


# Settings that change how a run goes, not what it finds.
_WITHOUT_EFFECT = ("devices", "dtypes", "timeout", "memory", "plots")


def torch_version() -> str | None:
    """The installed PyTorch, without importing it; None where there is none."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def _extensions(root: Path) -> list[str]:
    found = []
    for parent, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for name in names:
            if name.endswith((".so", ".pyd", ".dylib")):
                path = Path(parent, name)
                with suppress(OSError):
                    found.append(f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}")
    return found


def _pack(outcome: Outcome) -> dict[str, Any]:
    return {
        "findings": [pack_finding(finding) for finding in outcome.findings],
        "cases": [pack_case(case) for case in outcome.cases],
        **{name: getattr(outcome, name) for name in _PLAIN},
    }


def _unpack(unit: Unit, data: dict[str, Any]) -> Outcome:
    return Outcome(
        unit=unit,
        findings=tuple(map(unpack_finding, data["findings"])),
        cases=tuple(map(unpack_case, data["cases"])),
        cause=data["cause"],
        stub=data["stub"],
        seconds=data["seconds"],
        tried=tuple(data["tried"]),
        notes=tuple(data["notes"]),
        lasting=True,
    )


_PLAIN = ("cause", "stub", "seconds", "tried", "notes")
