"""The static engine on files: which rules hold for a file, and what became of it."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.check import Modules, check_bytes
from gradcheck_tool.config import Config, ConfigError
from gradcheck_tool.sources.discover import matches_patterns
from gradcheck_tool.sources.prefilter import may_hold_findings
from gradcheck_tool.sources.source import SourceError

if TYPE_CHECKING:
    from gradcheck_tool.check import Analyze
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.ruleset import RuleSet


@dataclass(frozen=True)
class FileResult:
    """What became of one file.

    Attributes:
        findings: in order of place.
        problem: why the file could not be checked, else None.
        failed: the fault is not the program's: its bytes could not be had, or gradlint broke down.
    """

    findings: tuple[Finding, ...] = field(default=())
    problem: str | None = None
    failed: bool = False


class Checker:
    """Checks files one at a time, loading the rules only when a file may hold a finding."""

    def __init__(self, analyze: Analyze | None = None) -> None:
        """`analyze` takes the place of the abstract interpreter."""
        self._analyze = analyze
        self._modules = Modules()
        self._rulesets: dict[_Selection, RuleSet] = {}

    def ruleset(self, config: Config) -> RuleSet:
        """The rules in force under a configuration.

        Raises:
            ConfigError: a rule pack cannot be loaded, or a selector matches no rule.
        """
        key = _Selection.of(config)
        if key not in self._rulesets:
            self._rulesets[key] = _load_rules(config)
        return self._rulesets[key]

    def check_file(self, path: Path, config: Config) -> FileResult:
        """Read and check one file.

        Raises:
            ConfigError: the configuration's rules cannot be used.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            return FileResult(problem=error.strerror or str(error), failed=True)
        return self.check_data(data, str(path), config)

    def check_data(self, data: bytes, filename: str, config: Config) -> FileResult:
        """Check the bytes of a file that may not be on disk.

        Raises:
            ConfigError: the configuration's rules cannot be used.
        """
        if not may_hold_findings(data):
            return FileResult()
        ruleset = self.ruleset(config)
        try:
            findings = check_bytes(data, filename, ruleset, modules=self._modules, analyze=self._analyze)
        except SourceError as error:
            return FileResult(problem=str(error))
        except Exception as error:  # noqa: BLE001 - one file must not end the run
            return FileResult(problem=_describe(error), failed=True)
        return FileResult(tuple(f for f in findings if not _is_ignored(f, config)))


@dataclass(frozen=True)
class _Selection:
    """The part of a configuration that decides which rules are in force."""

    rule_packs: tuple[Path, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    target_torch: str | None

    @classmethod
    def of(cls, config: Config) -> _Selection:
        return cls(config.rule_packs, config.select, config.extend_select, config.ignore, config.target_torch)


def _load_rules(config: Config) -> RuleSet:
    from gradcheck_tool.ruleselect import check_selectors
    from gradcheck_tool.ruleset import RulePackError, RuleSet, UnknownCodeError

    place = "" if config.source is None else f"{config.source}: "
    try:
        rules = RuleSet.load(config.rule_packs)
        codes = [rule.code for rule in rules.known]
        for pattern, selectors in config.per_file_ignores.items():
            check_selectors(f"per-file-ignores.{pattern}", selectors, codes)
        return rules.select(config.select, config.extend_select, config.ignore, config.target_torch)
    except (RulePackError, UnknownCodeError) as error:
        raise ConfigError(f"{place}{error}") from error


def _describe(error: Exception) -> str:
    """An error of gradlint's own or of a rule, with the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"internal error: {type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"


def _is_ignored(finding: Finding, config: Config) -> bool:
    """Whether `per-file-ignores` leaves the finding out."""
    if not config.per_file_ignores:
        return False
    from gradcheck_tool.ruleselect import matches

    path = Path(finding.location.filename)
    return any(
        matches(selector, finding.code)
        for pattern, selectors in config.per_file_ignores.items()
        if matches_patterns((pattern,), config.root, path)
        for selector in selectors
    )
