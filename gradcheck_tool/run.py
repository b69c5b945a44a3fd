"""`gradlint check` without its printing: from paths and options to findings and problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.checker import Checker, FileResult
from gradcheck_tool.config import Config, Configs, Overrides
from gradcheck_tool.findings import Finding
from gradcheck_tool.sources.discover import Discovery, discover

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.rule import Rule

# Called with the number of files done and the number of all files.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Problem:
    """A path that could not be checked.

    Attributes:
        fatal: the run as a whole failed for it: the path was named by the user, its bytes could not
            be had, or gradlint broke down. A file found in a folder that is not Python is told of,
            and no more.
    """

    path: str
    message: str
    fatal: bool


@dataclass(frozen=True)
class Options:
    """What a run is asked to do."""

    overrides: Overrides = field(default_factory=Overrides)
    respect_gitignore: bool = True
    force_exclude: bool = False


@dataclass
class Outcome:
    """What a run found: findings in order of place, each once, and what could not be checked."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0


class Run:
    """One run over files. It remembers configurations and rules for what is asked afterwards."""

    def __init__(self, folder: Path, options: Options, checker: Checker | None = None) -> None:
        """`folder` is the folder that the command runs in (absolute).

        Raises:
            ConfigError: the configuration that the command line names cannot be used.
        """
        self._folder = folder
        self._options = options
        self._configs = Configs(folder, options.overrides)
        self.checker = checker or Checker()

    def config(self, folder: Path) -> Config:
        """The configuration in force in a folder.

        Raises:
            ConfigError: it cannot be used.
        """
        return self._configs.for_folder(folder)

    def rules_in_force(self) -> Sequence[Rule]:
        """Every rule in force where the command runs, for reports that describe rules."""
        return self.checker.ruleset(self.config(self._folder)).active

    def discover(self, paths: Iterable[Path]) -> Discovery:
        """The files that the paths mean.

        Raises:
            ConfigError: a configuration on the way cannot be used.
        """
        return discover(
            [self._folder / path for path in paths],
            self._configs.for_folder,
            respect_gitignore=self._options.respect_gitignore,
            force_exclude=self._options.force_exclude,
        )

    def check(self, paths: Sequence[Path], progress: Progress | None = None) -> Outcome:
        """Check files and folders.

        Raises:
            ConfigError: a configuration, a selector or a rule pack cannot be used.
        """
        named = {self._folder / path for path in paths}
        found = self.discover(paths)
        self._refuse_wrong_selectors(found.files)
        problems = [Problem(str(path), "no such file or folder", fatal=True) for path in found.missing]
        findings: set[Finding] = set()
        for count, path in enumerate(found.files, start=1):
            result = self.checker.check_file(path, self.config(path.parent))
            findings.update(result.findings)
            if result.problem is not None:
                fatal = result.failed or path in named
                problems.append(Problem(str(path), result.problem, fatal))
            if progress is not None:
                progress(count, len(found.files))
        return Outcome(sorted(findings, key=Finding.sort_key), problems, len(found.files))

    def check_text(self, data: bytes, filename: str) -> Outcome:
        """Check a program that came through a pipe; `filename` is absolute, or `-`.

        Raises:
            ConfigError: the configuration of the file's folder cannot be used.
        """
        config = self.config(Path(filename).parent if filename != "-" else self._folder)
        if self._is_customised(config):
            self.checker.ruleset(config)
        result: FileResult = self.checker.check_data(data, filename, config)
        problems = [] if result.problem is None else [Problem(filename, result.problem, fatal=True)]
        return Outcome(list(result.findings), problems, 1)

    def _refuse_wrong_selectors(self, files: Iterable[Path]) -> None:
        """A misspelt code is an error even where no file needs the rules."""
        folders = dict.fromkeys(path.parent for path in files)
        for config in (self.config(self._folder), *(self.config(folder) for folder in folders)):
            if self._is_customised(config):
                self.checker.ruleset(config)

    @staticmethod
    def _is_customised(config: Config) -> bool:
        plain = Config(config.root)
        return (config.select, config.extend_select, config.ignore, config.rule_packs) != (
            plain.select,
            (),
            (),
            (),
        ) or bool(config.per_file_ignores)
