"""`gradlint check` without its printing: from paths and options to findings and problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cache.seen import Seen
from gradcheck_tool.config import Config, Overrides
from gradcheck_tool.configs import Configs
from gradcheck_tool.findings import Applicability, Finding, TraceStep
from gradcheck_tool.session.fixable import with_wanted_fix
from gradcheck_tool.session.ways import Ways, is_reported, led_elsewhere
from gradcheck_tool.sources.lines import SourceLines
from gradcheck_tool.sources.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gradcheck_tool.analysis.result import FileResult
    from gradcheck_tool.cache.caches import Caches
    from gradcheck_tool.fixes.noqa import CommentForm
    from gradcheck_tool.rulebook.rule import Rule
    from gradcheck_tool.session.closure import Closure
    from gradcheck_tool.session.files import FileChecker
    from gradcheck_tool.session.fixing import Change, Fixer
    from gradcheck_tool.sources.baseline import Baseline, Lines
    from gradcheck_tool.sources.discover import Discovery
    from gradcheck_tool.sources.source import Source

# The file name of a program from standard input that was given none.
STDIN_NAME = "-"

# Called with the number of files done and the number of all files.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Options:
    """What a run is asked to do. `jobs` is the number of processes; 0 is one for each core."""

    overrides: Overrides = field(default_factory=Overrides)
    respect_gitignore: bool = True
    force_exclude: bool = False
    cache: bool = False
    jobs: int = 1


@dataclass
class Outcome:
    """What a run found: findings in order of place, each once, and what could not be checked.

    `files` counts the files that the paths mean, `checked` those of them that could be read.
    `known` counts the findings that are left out because a baseline has them.
    `unfinished` has for a file the functions whose analysis was cut off at the work limit.
    `ways` has for each finding the file whose execution led to it.
    `is_short` tells that with more work there might be more findings.
    """

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    checked: int = 0
    known: int = 0
    unfinished: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    ways: dict[Finding, Path] = field(default_factory=dict)
    is_short: bool = False


class Session:
    """Checks of files, one after the other: it remembers configurations, rules and lowered modules.

    What it remembers of a file is that file's state when it was first read. An editor, which changes files in
    between, says so with `update` and `forget`. Configurations are read once.
    """

    def __init__(self, folder: Path, options: Options, checker: FileChecker | None = None) -> None:
        """`folder` is the folder that the command runs in (absolute).

        Raises:
            ConfigError: the configuration that the command line names cannot be used.
        """
        self._folder = folder
        self._options = options
        self._configs = Configs(folder, options.overrides)
        self._baselines: dict[Path, Baseline] = {}
        self._checker = checker
        self._looked_at: tuple[Discovery, Caches] | None = None
        self._named: set[Path] = set()

    @property
    def cache(self) -> Path:
        """The cache folder of the configuration in force where the command runs."""
        return self.config(self._folder).cache

    def seen(self) -> Seen | None:
        """Everything in the file system that the last outcome depends on; None where no cache kept track."""
        if self._looked_at is None:
            return None
        found, caches = self._looked_at
        paths = {*found.files, *found.looked_at, *self._configs.looked_at(), *caches.looked_at}
        folders = {*found.folders}
        for walked in self.checker.repository.looked_at if self._checker is not None else ():
            folders.update(walked.folders)
            paths |= {*walked.files, *walked.looked_at}
        packs = [
            pack
            for config in self._configs.in_force()
            for pack in (*config.rule_packs, *config.model_packs, *config.untrusted)
        ]
        return Seen.of(folders, paths, packs)

    @cached_property
    def _closure(self) -> Closure:
        from gradcheck_tool.session.closure import Closure

        return Closure(self.checker.repository)

    @property
    def checker(self) -> FileChecker:
        """The static engine, with the rules that it has loaded."""
        from gradcheck_tool.session.files import FileChecker

        if self._checker is None:
            self._checker = FileChecker()
        self._checker.repository.folder = self._folder
        return self._checker

    def config(self, folder: Path) -> Config:
        """The configuration in force in a folder.

        Raises:
            ConfigError: it cannot be used.
        """
        return self._configs.for_folder(folder)

    def configs_in_force(self) -> list[Config]:
        """The configurations that were found so far."""
        return self._configs.in_force()

    def rules_in_force(self) -> Sequence[Rule]:
        """Every rule in force where the command runs, for reports that describe rules."""
        return self.checker.ruleset(self.config(self._folder)).active

    def rules_known(self) -> Sequence[Rule]:
        """Every rule that is known where the command runs, those that are not in force, too."""
        return self.checker.ruleset(self.config(self._folder)).known

    def reported(self, findings: Iterable[Finding]) -> Outcome:
        """What of the findings of another engine the configurations and comments of their files report.

        Raises:
            ConfigError: a configuration, a selector or a rule pack cannot be used.
        """
        wanted = [finding for finding in findings if self._is_reported(finding)]
        kept = self.checker.unsuppressed(wanted)
        new = self._unknown(kept)
        return Outcome(new, known=len(kept) - len(new))

    def discover(self, paths: Iterable[Path]) -> Discovery:
        """The files that the paths mean.

        Raises:
            ConfigError: a configuration on the way cannot be used.
        """
        from gradcheck_tool.sources.discover import discover

        return discover(
            [self._folder / path for path in paths],
            self._configs.for_folder,
            respect_gitignore=self._options.respect_gitignore,
            force_exclude=self._options.force_exclude,
        )

    def update(self, path: Path, text: str) -> None:
        """Take a file to have this text from now on, in checks of it and of what imports it.

        Fixes and suppressions are made in this text, too. A file that is not on disk yet is imported by
        others; it is itself checked by `check_text`.
        """
        from gradcheck_tool.sources.discover import absolute

        self.checker.modules.update(absolute(self._folder / path), text)

    def forget(self, path: Path) -> None:
        """Take a file to be as it is on disk, where it may have changed."""
        from gradcheck_tool.sources.discover import absolute

        self.checker.modules.forget(absolute(self._folder / path))

    def check(self, paths: Sequence[Path], progress: Progress | None = None) -> Outcome:
        """Check files and folders.

        Raises:
            ConfigError: a configuration, a selector or a rule pack cannot be used.
        """
        from gradcheck_tool.cache.caches import Caches
        from gradcheck_tool.sources.discover import absolute

        named = self._named = {absolute(self._folder / path) for path in paths}
        # Neither caches nor other processes know of texts that are not on disk.
        edited = self.checker.modules.has_texts
        caches = Caches(self._elsewhere) if self._options.cache and not edited else None
        found = self.discover(paths)
        self._looked_at = (found, caches) if caches else None
        self._refuse_wrong_selectors(found.files)
        problems = [Problem(str(path), "no such file or folder", fatal=True) for path in found.missing]
        problems += [Problem(str(path), "folder cannot be read", fatal=True) for path in found.unreadable]
        told = Ways(self._closure)
        unfinished: dict[Path, tuple[str, ...]] = {}
        unread, is_short = 0, False
        for path, result in self._results(found.files, caches, progress):
            is_short |= result.is_short
            if result.unfinished:
                unfinished[path] = result.unfinished
            told.add(path, result)
            problems += [Problem(str(path), mistake, fatal=False) for mistake in result.mistaken]
            problem = result.problem
            if problem is not None:
                problems.append(Problem(str(path), problem, result.failed or path in named))
                unread += not result.partial
        for path, result in self._of_importers(found.files, caches):
            told.add(path, result)
        ways = told.findings(self._is_reported)
        new = self._unknown(ways)
        checked = len(found.files) - unread
        known = len(ways) - len(new)
        return Outcome(new, problems, len(found.files), checked, known, unfinished, ways, is_short)

    def story(self, finding: Finding, outcome: Outcome) -> tuple[TraceStep, ...]:
        """The story of one of the outcome's findings, with what else happens to its tensors on the way."""
        way = outcome.ways.get(finding, Path(finding.location.filename))
        return self.checker.story(way, finding, self.config(way.parent))

    def fix(self, outcome: Outcome, unsafe: bool) -> list[Change]:
        """The changes that the findings' fixes make, one a file; nothing is written."""
        wanted = [
            finding
            for finding in outcome.findings
            if finding.fix and (unsafe or finding.fix.applicability is Applicability.SAFE)
        ]
        files = self._within(self._files_of(wanted), outcome)
        return list(self._fixer(outcome.ways).fixes(files, unsafe))

    def add_noqa(self, outcome: Outcome, form: CommentForm | None = None) -> list[Change]:
        """The changes that suppress the findings where they are, one a file; nothing is written."""
        files = self._within(self._files_of(outcome.findings), outcome)
        return list(self._fixer(outcome.ways).suppressions(files, form))

    def recheck(self, outcome: Outcome, changes: Iterable[Change]) -> Outcome:
        """The outcome after these changes were written."""
        changed = {change.path for change in changes}
        for path in changed:
            self.forget(path)
        led = led_elsewhere(outcome.ways.items())
        ways = changed.union(*(led.get(path, ()) for path in changed))
        again = self.check(sorted(ways))
        kept = [
            finding
            for finding in outcome.findings
            if Path(finding.location.filename) not in changed and outcome.ways.get(finding) not in ways
        ]
        findings = sorted({*kept, *again.findings}, key=Finding.sort_key)
        ways_now = {**outcome.ways, **again.ways}
        left = {path: names for path, names in outcome.unfinished.items() if path not in ways}
        return replace(outcome, findings=findings, unfinished={**left, **again.unfinished}, ways=ways_now)

    def fix_text(self, data: bytes, filename: str, unsafe: bool) -> bytes:
        """The fixed bytes of a program that came through a pipe; as they are when they do not parse.

        Raises:
            ConfigError: the configuration of the file's folder cannot be used.
        """
        from gradcheck_tool.sources.errors import SourceError

        try:
            return self._fixer({}).fix_data(data, filename, self._config_of(filename), unsafe).data
        except SourceError:
            return data

    def _is_reported(self, finding: Finding) -> bool:
        """Does the configuration of the file in which a finding stands report it?"""
        config = self._config_of(finding.location.filename)
        return is_reported(finding, config, self.checker.ruleset(config))

    def _elsewhere(self, path: Path, names: str, kind: int) -> str:
        """The state of the files that answer a question about the repository of a file."""
        return self.checker.repository.state(path, names, kind)

    def _fixer(self, ways: Mapping[Finding, Path]) -> Fixer:
        from gradcheck_tool.session.fixing import Fixer
        from gradcheck_tool.sources.source import split_lines

        def keep(findings: Sequence[Finding], source: Source) -> Sequence[Finding]:
            lines = split_lines(source.text)
            return self._unknown(findings, lambda name, _: lines if name == source.filename else ())

        return Fixer(self.checker, keep, led_elsewhere(ways.items()), self._closure)

    def _files_of(self, findings: Iterable[Finding]) -> list[tuple[Path, Config]]:
        paths = dict.fromkeys(Path(finding.location.filename) for finding in findings)
        return [(path, self.config(path.parent)) for path in paths]

    def _within(self, files: Iterable[tuple[Path, Config]], outcome: Outcome) -> list[tuple[Path, Config]]:
        """The files that may be changed: not those that are links out of the tree, which become problems."""
        from gradcheck_tool.trust.links import leads_out

        kept = []
        for path, config in files:
            reason = leads_out(path, self._tree(path, config))
            if reason is None:
                kept.append((path, config))
            else:
                outcome.problems.append(Problem(str(path), f"not changed: {reason}", fatal=False))
        return kept

    def _tree(self, path: Path, config: Config) -> Path:
        """The tree of a file that lies in no repository: its configuration's, or what was asked for."""
        if config.source is not None and path.is_relative_to(config.root):
            return config.root
        named = [place for place in self._named if place != path and path.is_relative_to(place)]
        return min(named, key=lambda place: len(place.parts), default=path.parent)

    def _config_of(self, filename: str) -> Config:
        return self.config(Path(filename).parent if filename != STDIN_NAME else self._folder)

    def _unknown(self, findings: Iterable[Finding], lines: Lines | None = None) -> list[Finding]:
        """The findings in order of place, less those that a baseline has."""
        kept: list[Finding] = []
        by_baseline: dict[Path, list[Finding]] = {}
        for found in sorted(findings, key=Finding.sort_key):
            config = self._config_of(found.location.filename)
            finding, baseline = with_wanted_fix(found, config), config.baseline
            if baseline is None:
                kept.append(finding)
            else:
                by_baseline.setdefault(baseline, []).append(finding)
        for path, group in by_baseline.items():
            kept += self._baseline(path).new(group, lines or SourceLines())
        return sorted(kept, key=Finding.sort_key)

    def _baseline(self, path: Path) -> Baseline:
        from gradcheck_tool.sources.baseline import Baseline

        if path not in self._baselines:
            self._baselines[path] = Baseline(path)
        return self._baselines[path]

    def _results(
        self, files: Sequence[Path], caches: Caches | None, progress: Progress | None
    ) -> Iterator[tuple[Path, FileResult]]:
        """The results of all files, remembered ones first."""
        from gradcheck_tool.session.pool import check_all

        tasks: list[tuple[Path, Config]] = []
        for path in files:
            config = self.config(path.parent)
            known = caches.get(path, config) if caches else None
            if known is None:
                tasks.append((path, config))
            else:
                yield path, known
        done = len(files) - len(tasks)
        jobs = 1 if self.checker.modules.has_texts else self._options.jobs
        results = check_all(tasks, self.checker, jobs)
        for (path, config), result in zip(tasks, results, strict=True):
            done += 1
            if progress is not None:
                progress(done, len(files))
            if caches:
                caches.put(path, config, result)
            yield path, result
        if caches:
            caches.save()

    def _of_importers(
        self, files: Sequence[Path], caches: Caches | None
    ) -> Iterator[tuple[Path, FileResult]]:
        """What other files that import these show about them."""
        from gradcheck_tool.session.importers import is_about

        names = {str(path) for path in files}
        for path, result in self._results(self.checker.importers.of(files), caches, None):
            about = tuple(finding for finding in result.findings if is_about(finding, names))
            # There may be more files that use these, with other arguments.
            yield path, replace(result, findings=about, entered=())

    def leaves_out(self, filename: str) -> bool:
        """Whether a program that came through a pipe is excluded, and exclusions hold for named files.

        Raises:
            ConfigError: the configuration of the file's folder cannot be used.
        """
        from gradcheck_tool.sources.discover import is_excluded

        config = self._config_of(filename)
        return self._options.force_exclude and is_excluded(Path(filename), config)

    def check_text(self, data: bytes, filename: str) -> Outcome:
        """Check a program that came through a pipe; `filename` is absolute, or `-`.

        Raises:
            ConfigError: the configuration of the file's folder cannot be used.
        """
        config = self._config_of(filename)
        if self._is_customised(config):
            self.checker.ruleset(config)
        result: FileResult = self.checker.check_data(data, filename, config)
        problem = result.problem
        problems = [] if problem is None else [Problem(filename, problem, fatal=True)]
        problems += [Problem(filename, mistake, fatal=False) for mistake in result.mistaken]
        lines = SourceLines({filename: data})
        told = Ways(self._closure)
        told.add(Path(filename), result)
        ways = told.findings(self._is_reported)
        new = self._unknown(ways, lines)
        checked = 1 if problem is None or result.partial else 0
        unfinished = {Path(filename): result.unfinished} if result.unfinished else {}
        known = len(ways) - len(new)
        return Outcome(new, problems, 1, checked, known, unfinished, ways, result.is_short)

    def _refuse_wrong_selectors(self, files: Iterable[Path]) -> None:
        """A misspelt code is an error even where no file needs the rules."""
        folders = dict.fromkeys(path.parent for path in files)
        for config in (self.config(self._folder), *(self.config(folder) for folder in folders)):
            if self._is_customised(config):
                self.checker.ruleset(config)

    @staticmethod
    def _is_customised(config: Config) -> bool:
        plain = Config(config.root)
        selection = (config.select, config.extend_select, config.ignore, config.fixable, config.unfixable)
        packs = (*config.rule_packs, *config.model_packs, *config.untrusted, *config.per_file_ignores)
        return selection != (plain.select, (), (), plain.fixable, ()) or bool(packs)
