"""The static engine on files: which rules hold for a file, and what became of it."""

from __future__ import annotations

import gc
import traceback
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.import_context import Extent
from gradcheck_tool.analysis.pace import UNHURRIED
from gradcheck_tool.analysis.program import check_source
from gradcheck_tool.analysis.result import FileResult
from gradcheck_tool.cache.store import digest
from gradcheck_tool.config import Config, ConfigError
from gradcheck_tool.findings import Finding
from gradcheck_tool.library.model_packs import ModelPackError, check_packs, model_packs
from gradcheck_tool.rulebook.selection import UNUSED_SUPPRESSION, is_left_out, is_selected
from gradcheck_tool.session.call_sites import CallSites
from gradcheck_tool.session.import_graph import ImportGraph
from gradcheck_tool.session.importers import Importers
from gradcheck_tool.session.limits import TooLongError
from gradcheck_tool.session.modules import ModuleCache
from gradcheck_tool.session.repository import Repository
from gradcheck_tool.session.unknown_codes import may_name_rules, unknown_codes
from gradcheck_tool.session.unused_suppressions import unused_suppressions
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.prefilter import mentions_torch
from gradcheck_tool.sources.source import Source, read_source
from gradcheck_tool.sources.suppression import Suppressions, may_hold_suppressions, read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from libcst import ParserSyntaxError

    from gradcheck_tool.analysis.import_context import ImportContext
    from gradcheck_tool.findings import TraceStep
    from gradcheck_tool.rulebook.ruleset import RulePackError, RuleSet, UnknownCodeError

_TOO_DEEP = "is nested too deeply to be analysed"
_TOO_LONG = "is too long to be analysed"
# Trees, and what is made of them, take memory in proportion: half a gigabyte for so many characters or
# statements, which nobody has written by hand.
MOST_CHARACTERS = 1_000_000
MOST_STATEMENTS = 75_000


@dataclass(frozen=True)
class Examined:
    """A decoded program and its findings, in rows of the program. Suppressed ones are left out.

    `extent` tells how far its execution went, `used` names the comments in other files that suppress findings
    there.
    """

    source: Source
    findings: tuple[Finding, ...]
    extent: Extent = field(default_factory=Extent)
    used: tuple[tuple[str, int], ...] = ()


class FileChecker:
    """Checks files one at a time, loading the rules only when a file may hold a finding.

    Attributes:
        modules: the files of the repository, as they are on disk or as they were updated.
        repository: answers questions about all of them.
        importers: tells which of them import others.
        call_sites: tells what they pass to each other's functions.
        pace: how long a check may take.
    """

    def __init__(self) -> None:
        self.modules = ModuleCache()
        self.repository = Repository(self.modules)
        self._graph = ImportGraph(self.modules)
        self.importers = Importers(self.repository, self._graph)
        self.call_sites = CallSites(self.repository, self.modules)
        self.pace = UNHURRIED
        self._extent = Extent()
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
            data = self.modules.read(path)
        except OSError as error:
            return FileResult(problem=error.strerror or str(error), failed=True)
        return replace(self.check_data(data, str(path), config), content=digest(data))

    def check_data(self, data: bytes, filename: str, config: Config) -> FileResult:
        """Check the bytes of a file that may not be on disk.

        Raises:
            ConfigError: the configuration's rules cannot be used.
        """
        try:
            examined = self.examine(data, filename, config)
            mistaken = self._mistaken_comments(data, filename, config)
        except SourceError as error:
            return FileResult(problem=str(error))
        except ConfigError:
            raise
        except TooLongError as error:
            return FileResult(problem=f"not checked: {error}", failed=True)
        except MemoryError:
            gc.collect()
            return FileResult(problem="not checked: it takes more memory than there is", failed=True)
        except Exception as error:  # noqa: BLE001 - one file must not end the run
            return FileResult(problem=_describe(error), failed=True)
        imports = tuple(dict.fromkeys(self.modules.asked))
        broken = _broken_cells(examined.source)
        return FileResult(
            findings=tuple(examined.source.in_file(finding) for finding in examined.findings),
            problem=broken,
            partial=broken is not None,
            imports=imports,
            unfinished=tuple(examined.extent.unfinished),
            is_short=examined.extent.is_short,
            entered=tuple(sorted(examined.extent.entered)),
            used=examined.used,
            mistaken=mistaken,
        )

    def examine(self, data: bytes, filename: str, config: Config) -> Examined:
        """Decode and check one program.

        Raises:
            SourceError: the bytes cannot be decoded or are not Python.
            ConfigError: the configuration's rules cannot be used.
        """
        self.modules.asked.clear()
        self._extent = Extent()
        relevant = self._may_hold_findings(data, filename, config)
        unused_too = _reports_unused(config)
        source = read_source(filename, data)
        if not relevant:
            _refuse_what_is_not_python(source)
        findings = self._analysed(source, config) if relevant else []
        findings = [finding for finding in findings if not self._is_shown(finding, source, config)]
        if not findings and not (unused_too and may_hold_suppressions(data)):
            return Examined(source, (), self._extent)
        suppressions = Suppressions() if config.ignore_comments else read_suppressions(source.text)
        if suppressions.skip_file:
            return Examined(source, (), self._extent)
        known: dict[str, Suppressions] = {source.filename: suppressions}
        used: set[tuple[str, int]] = set()
        kept = [
            finding
            for finding in findings
            if config.ignore_comments or not self._is_suppressed(finding, known, used)
        ]
        if unused_too:
            kept += unused_suppressions(source, suppressions, findings, self.ruleset(config))
        kept = [
            finding
            for finding in kept
            if not is_left_out(finding.code, Path(finding.location.filename), config)
        ]
        findings = sorted(kept, key=Finding.sort_key)
        elsewhere = sorted((name, row) for name, row in used if name != source.filename)
        return Examined(source, tuple(findings), self._extent, tuple(elsewhere))

    def _mistaken_comments(self, data: bytes, filename: str, config: Config) -> tuple[str, ...]:
        """What is wrong with the suppression comments of a program, if rules are named there at all.

        Raises:
            SourceError: the bytes cannot be decoded.
            ConfigError: the configuration's rules cannot be used.
        """
        if not may_name_rules(data) or not self.ruleset(config).is_whole:
            return ()
        source = read_source(filename, data)
        return tuple(unknown_codes(source, read_suppressions(source.text), self.ruleset(config)))

    def _may_hold_findings(self, data: bytes, filename: str, config: Config) -> bool:
        """Without a pack, files that neither have to do with torch nor run what has need no rules at all."""
        about_torch = config.rule_packs or mentions_torch(data, model_packs(config.model_packs).names)
        path = Path(filename)
        if about_torch and (
            self.ruleset(config).triage.prefilter.passes(data)
            or self._graph.imports_what_computes(path, data)
        ):
            return True
        return self._graph.may_lead(path, data)

    def _is_shown(self, finding: Finding, source: Source, config: Config) -> bool:
        """Is the finding that a value is discarded, which the notebook shows?"""
        notebook = source.notebook
        return (
            notebook is not None
            and finding.location.filename == source.filename
            and self.ruleset(config).rule(finding.code).of_unused_values
            and notebook.shows(finding.location)
        )

    def _is_suppressed(
        self, finding: Finding, known: dict[str, Suppressions], used: set[tuple[str, int]]
    ) -> bool:
        """A finding in another file is suppressed by that file's comments, which are read into `known`.

        The comments that suppress it are added to `used`.
        """
        name = finding.location.filename
        if name not in known:
            try:
                known[name] = read_suppressions(read_source(name, self.modules.read(Path(name))).text)
            except (OSError, SourceError):
                known[name] = Suppressions()
        covering = known[name].covering(finding)
        used.update((name, comment.row) for comment in covering)
        return known[name].skips(finding) or bool(covering)

    def unsuppressed(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that no comment in their files suppresses."""
        known: dict[str, Suppressions] = {}
        return [finding for finding in findings if not self._is_suppressed(finding, known, set())]

    def _around(self, source: Source, config: Config) -> ImportContext:
        """What a program is checked with."""
        path = Path(source.filename)
        return replace(
            self.modules.around(path, model_packs(config.model_packs)),
            leads=lambda imported: self._graph.leads(path, [imported]),
            computes=lambda imported, attribute: self._graph.computes(path, imported, attribute),
            elsewhere=self.call_sites,
            pace=self.pace,
        )

    def story(self, path: Path, finding: Finding, config: Config) -> tuple[TraceStep, ...]:
        """The story of a finding that executing a file leads to, with what else happens on the way.

        It is the finding's own where the file has changed.
        """
        from gradcheck_tool.analysis.program import recorded_story

        try:
            source = read_source(str(path), self.modules.read(path))
            around = self._around(source, config)
            steps = recorded_story(
                source.text, source.filename, self.ruleset(config), partial(_is_same, source, finding), around
            )
        except (OSError, SourceError, RecursionError, _syntax_error()):
            return finding.trace
        return source.in_file(replace(finding, trace=steps)).trace if steps else finding.trace

    def _analysed(self, source: Source, config: Config) -> list[Finding]:
        text = source.text
        if len(text) > MOST_CHARACTERS or text.count("\n") + text.count(";") > MOST_STATEMENTS:
            raise SourceError(_TOO_LONG)
        around = self._around(source, config)
        ruleset = self.ruleset(config)
        try:
            return check_source(source.text, source.filename, ruleset, around)
        except _syntax_error() as error:
            raise _does_not_parse(source, error) from error
        except RecursionError as error:
            raise SourceError(_TOO_DEEP) from error
        finally:
            self._extent = around.extent


def _is_same(source: Source, finding: Finding, other: Finding) -> bool:
    """Is it the finding, with its places in the program in the place of those in the file?"""
    found = source.in_file(other)
    return (found.code, found.location) == (finding.code, finding.location)


def _syntax_error() -> type[ParserSyntaxError]:
    """The error of libcst, which is worth importing only once something was raised."""
    from libcst import ParserSyntaxError

    return ParserSyntaxError


def _does_not_parse(source: Source, error: ParserSyntaxError) -> SourceError:
    from gradcheck_tool.ir.parsing import refused_at

    row, column = refused_at(source.text, error)
    return SourceError(f"does not parse as Python (row {row}, column {column})")


def _refuse_what_is_not_python(source: Source) -> None:
    """Parse a program that nothing else reads.

    Raises:
        SourceError: it is no Python.
    """
    from gradcheck_tool.ir.outline import parsed_by_python

    if len(source.text) > MOST_CHARACTERS or parsed_by_python(source.text) is not None:
        return
    from gradcheck_tool.ir.parsing import parse  # which imports libcst

    try:  # Python's own parser may be older than the program.
        parse(source.text)
    except _syntax_error() as error:
        raise _does_not_parse(source, error) from error
    except RecursionError as error:
        raise SourceError(_TOO_DEEP) from error


@dataclass(frozen=True)
class _Selection:
    """The part of a configuration that decides which rules are in force, and its models of libraries."""

    rule_packs: tuple[Path, ...]
    model_packs: tuple[Path, ...]
    untrusted: tuple[Path, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    target_torch: str | None
    strict: bool
    preview: bool
    fixable: tuple[str, ...]
    unfixable: tuple[str, ...]

    @classmethod
    def of(cls, config: Config) -> _Selection:
        return cls(
            config.rule_packs,
            config.model_packs,
            config.untrusted,
            config.select,
            config.extend_select,
            config.ignore,
            config.target_torch,
            config.strict,
            config.preview,
            config.fixable,
            config.unfixable,
        )


def _load_rules(config: Config) -> RuleSet:
    from gradcheck_tool.rulebook.ruleset import RulePackError, RuleSet, UnknownCodeError
    from gradcheck_tool.rulebook.selection import check_selectors

    try:
        check_packs(config.model_packs)
        rules = RuleSet.load(config.rule_packs, is_whole=not config.untrusted)
        for pattern, selectors in config.per_file_ignores.items() if rules.is_whole else ():
            check_selectors(f"per-file-ignores.{pattern}", selectors, rules.codes, rules.names)
        for key in ("fixable", "unfixable") if rules.is_whole else ():
            check_selectors(key, getattr(config, key), rules.codes, rules.names)
        return rules.select(
            config.select,
            config.extend_select,
            config.ignore,
            config.target_torch,
            strict=config.strict,
            preview=config.preview,
        )
    except (ModelPackError, RulePackError, UnknownCodeError) as error:
        origin = config.origin(_key_of(error))
        raise ConfigError(f"{origin}: {error}" if origin else f"--{error}") from error


def _key_of(error: ModelPackError | RulePackError | UnknownCodeError) -> str:
    """The key of the configuration that an error is about."""
    from gradcheck_tool.rulebook.ruleset import UnknownCodeError

    if isinstance(error, UnknownCodeError):
        return error.key.partition(".")[0]
    return "model-packs" if isinstance(error, ModelPackError) else "rule-packs"


def _reports_unused(config: Config) -> bool:
    """Whether suppressions that suppress nothing are findings: by their key, or by their code like rules."""
    selected = is_selected(UNUSED_SUPPRESSION, False, (*config.select, *config.extend_select), config.ignore)
    return config.report_unused_suppressions or selected


def _broken_cells(source: Source) -> str | None:
    """`cell 3 is not Python, left out`; None where all are."""
    numbers = source.notebook.broken if source.notebook else ()
    if not numbers:
        return None
    listed = ", ".join(map(str, numbers))
    which = f"cell {listed} is" if len(numbers) == 1 else f"cells {listed} are"
    return f"{which} not Python, left out"


def _describe(error: Exception) -> str:
    """An error of gradlint's own or of a rule, with the place that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    # The text of an error may be that of a tree, which may be too deep for words.
    told = traceback.format_exception_only(error)[-1].strip()
    return f"internal error: {told} ({Path(last.filename).name}:{last.lineno})"
