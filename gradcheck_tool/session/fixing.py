"""Runs that change files: fixes and added suppressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradcheck_tool.fixes.apply import Fixed, edited, fix_bytes
from gradcheck_tool.fixes.noqa import noqa_edits
from gradcheck_tool.sources.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gradcheck_tool.config import Config
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.session.files import FileChecker
    from gradcheck_tool.sources.source import Source

# Leaves out findings that are known, and so not to be fixed; their rows are rows of the program.
Keep = Callable[["Sequence[Finding]", "Source"], "Sequence[Finding]"]


@dataclass(frozen=True)
class Change:
    """A file and what would become of it."""

    path: Path
    before: bytes
    after: bytes
    fixed: int


class Fixer:
    """Works out changes of files, and writes none."""

    def __init__(self, checker: FileChecker, keep: Keep) -> None:
        self._checker = checker
        self._keep = keep

    def fixes(self, files: Sequence[tuple[Path, Config]], unsafe: bool) -> Iterator[Change]:
        """The changes that the findings' fixes make; files that cannot be read or parsed have none."""
        for path, config in files:
            before = self._read(path)
            if before is None:
                continue
            try:
                result = self.fix_data(before, str(path), config, unsafe)
            except SourceError:
                continue
            if result.fixed:
                yield Change(path, before, result.data, len(result.fixed))

    def fix_data(self, data: bytes, filename: str, config: Config, unsafe: bool) -> Fixed:
        """Fix the bytes of a file that may not be on disk.

        Raises:
            SourceError: the bytes cannot be decoded or are not Python.
            ConfigError: the configuration's rules cannot be used.
        """

        def examine(current: bytes) -> tuple[Source, Sequence[Finding]] | None:
            examined = self._checker.examine(current, filename, config)
            if examined is None:
                return None
            return examined.source, self._keep(examined.findings, examined.source)

        return fix_bytes(data, examine, unsafe)

    def suppressions(self, files: Sequence[tuple[Path, Config]]) -> Iterator[Change]:
        """The changes that give every finding a `# noqa` comment."""
        for path, config in files:
            before = self._read(path)
            try:
                examined = None if before is None else self._checker.examine(before, str(path), config)
            except SourceError:
                continue
            if before is None or examined is None:
                continue
            findings = self._keep(examined.findings, examined.source)
            after = edited(examined.source, noqa_edits(examined.source, findings))
            if after is not None:
                yield Change(path, before, after, len(findings))

    def _read(self, path: Path) -> bytes | None:
        """The bytes of a file, as an editor has them."""
        try:
            return self._checker.modules.read(path)
        except OSError:
            return None
