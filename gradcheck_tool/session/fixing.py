"""Runs that change files: fixes and added suppressions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.findings import Finding
from gradcheck_tool.fixes.apply import Fixed, edited, fix_bytes
from gradcheck_tool.fixes.noqa import CommentForm, noqa_edits
from gradcheck_tool.sources.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gradcheck_tool.config import Config
    from gradcheck_tool.session.closure import Closure
    from gradcheck_tool.session.files import FileChecker
    from gradcheck_tool.sources.source import Source

# Leaves out findings that are known, and so not to be fixed; their rows are rows of the program.
Keep = Callable[["Sequence[Finding]", "Source"], "Sequence[Finding]"]


@dataclass(frozen=True)
class Change:
    """A file, what would become of it, and the findings that are then gone."""

    path: Path
    before: bytes
    after: bytes
    findings: tuple[Finding, ...]


class Fixer:
    """Works out changes of files, and writes none."""

    def __init__(
        self, checker: FileChecker, keep: Keep, ways: Mapping[Path, Iterable[Path]], closure: Closure
    ) -> None:
        """`ways` has the other files whose execution leads to findings in a file."""
        self._closure = closure
        self._checker = checker
        self._keep = keep
        self._ways = ways

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
                yield Change(path, before, result.data, result.fixed)

    def fix_data(self, data: bytes, filename: str, config: Config, unsafe: bool) -> Fixed:
        """Fix the bytes of a file that may not be on disk.

        Raises:
            SourceError: the bytes cannot be decoded or are not Python.
            ConfigError: the configuration's rules cannot be used.
        """

        def examine(current: bytes) -> tuple[Source, Sequence[Finding]]:
            return self._examined(current, filename, config)

        return fix_bytes(data, examine, unsafe)

    def suppressions(
        self, files: Sequence[tuple[Path, Config]], form: CommentForm | None
    ) -> Iterator[Change]:
        """The changes that give every finding a comment of this form."""
        for path, config in files:
            before = self._read(path)
            if before is None:
                continue
            try:
                source, findings = self._examined(before, str(path), config)
            except SourceError:
                continue
            after = edited(source, noqa_edits(source, findings, form or CommentForm()))
            if after is not None:
                yield Change(path, before, after, tuple(findings))

    def _examined(self, data: bytes, filename: str, config: Config) -> tuple[Source, Sequence[Finding]]:
        """A program of these bytes and the findings in it, those that other files lead to among them."""
        from gradcheck_tool.session.ways import Ways

        path = Path(filename)
        examined = self._checker.examine(data, filename, config)
        elsewhere = self._ways.get(path, ())
        told = Ways(self._closure)
        told.add(path, FileResult(examined.findings))
        with self._checker.modules.having(path, data) if elsewhere else nullcontext():
            for way in elsewhere:
                told.add(way, self._checker.check_file(way, config))
        here = told.findings(lambda finding: finding.location.filename == filename)
        findings = [finding for finding in here if finding.location.filename == filename]
        return examined.source, self._keep(sorted(findings, key=Finding.sort_key), examined.source)

    def _read(self, path: Path) -> bytes | None:
        """The bytes of a file, as an editor has them."""
        try:
            return self._checker.modules.read(path)
        except OSError:
            return None
