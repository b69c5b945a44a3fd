"""One run of the harness: from targets to outcomes and the findings that count."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gradcheck_tool.configs import Configs
from gradcheck_tool.harness.discovery import Discovery
from gradcheck_tool.harness.outcomes import merged
from gradcheck_tool.harness.results import Results
from gradcheck_tool.harness.scheduler import Bench, Engine
from gradcheck_tool.harness.settings import Settings, read_settings
from gradcheck_tool.harness.targets import find_functions
from gradcheck_tool.harness.units import make_units, matching, shard
from gradcheck_tool.rulebook.selection import is_left_out, is_selected
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.source import read_source
from gradcheck_tool.sources.suppression import Suppressions, read_suppressions
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.config import Config, Overrides
    from gradcheck_tool.findings import Finding
    from gradcheck_tool.harness.outcomes import Outcome
    from gradcheck_tool.harness.units import Unit

# Called with the number of units done and the number of all, by any thread.
Progress = Callable[[int, int], None]


class Runner(Protocol):
    """What checks units, somewhere."""

    def run(self, units: Sequence[Unit], told: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        """Check all units; see `Engine.run`."""


# Called with the settings, how many units are checked at a time, and the folder of recorded calls.
EngineMaker = Callable[[Settings, int, Path], Runner]


@dataclass(frozen=True)
class Plan:
    """What a run is to do.

    Attributes:
        folder: the folder that it runs in (absolute).
        units: what is checked, in order.
        found: how many Functions there are, selected or not.
        settings: options and limits.
        problems: `(file, why)` of files that could not be read.
        unread: those of them that were asked for by name.
        discovery: what it read of the sources.
    """

    folder: Path
    units: list[Unit]
    found: int
    settings: Settings
    problems: list[tuple[str, str]]
    discovery: Discovery
    unread: tuple[str, ...] = ()


@dataclass
class Verdicts:
    """What a run gave: an outcome for every unit, in order, and the findings in order of place."""

    outcomes: list[Outcome] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Harness:
    """The harness in a folder, under the configurations in force there."""

    def __init__(self, folder: Path, overrides: Overrides) -> None:
        """`folder` is the folder that the command runs in (absolute).

        Raises:
            ConfigError: a configuration cannot be used.
        """
        self._folder = folder
        self._configs = Configs(folder, overrides)
        self.config = self._configs.for_folder(folder)
        self.settings = read_settings(self.config.gradcheck, str(self.config.origin("gradcheck")))
        self._suppressions: dict[str, Suppressions] = {}

    @property
    def cache(self) -> Path:
        """The folder of results and recorded calls."""
        return self.config.cache

    def plan(
        self,
        targets: Iterable[str],
        settings: Settings,
        *,
        part: str | None = None,
        select: str | None = None,
    ) -> Plan:
        """Find the Functions and lay out what is to be checked.

        Args:
            targets: paths, packages, `module:Name`.
            settings: options and limits.
            part: the shard, as `i/n`.
            select: an expression as `pytest -k` takes it.

        Raises:
            TargetError: a target means nothing.
            ConfigError: a configuration on the way cannot be used.
            ValueError: the shard or the expression cannot be understood.
        """
        discovery = Discovery()
        asked = tuple(targets)
        refs = find_functions(asked, self._folder, self._configs.for_folder, discovery)
        units = make_units(refs, settings)
        if select is not None:
            units = matching(units, select)
        if part is not None:
            units = shard(units, part)
        named = {str(self._folder / text.partition(".py:")[0]) for text in asked}
        named |= {f"{name}.py" for name in named}
        unread = tuple(name for name, _ in discovery.problems if name in named)
        return Plan(self._folder, units, len(refs), settings, discovery.problems, discovery, unread)

    def check(
        self,
        plan: Plan,
        jobs: int,
        *,
        keep: bool = True,
        progress: Progress | None = None,
        make_engine: EngineMaker = Engine.of,
        sofar: list[Outcome] | None = None,
    ) -> Verdicts:
        """Check what was planned.

        Args:
            plan: made by `plan`.
            jobs: units that are checked at a time; 0: one for each core.
            keep: use and keep results of earlier runs.
            progress: is called with how far it is.
            make_engine: makes what runs the units.
            sofar: gets the outcomes as they come, for a run that is broken off.

        Raises:
            WorkerError: PyTorch cannot be imported.
        """
        results = self._results(plan, keep=keep)
        known = {unit: results.get(unit) for unit in plan.units} if results else {}
        left = [unit for unit in plan.units if known.get(unit) is None]
        fresh = []
        sofar = sofar if sofar is not None else []
        sofar += [outcome for outcome in known.values() if outcome is not None]
        if left:
            told = _Teller(len(plan.units), sofar, results, progress).tell
            fresh = make_engine(plan.settings, jobs, self.cache).run(left, told)
        if results:
            # A crash may have been traced to a Function whose result was kept by then.
            for outcome in fresh:
                results.put(outcome)
        by_unit = {**known, **{outcome.unit: outcome for outcome in fresh}}
        return self.verdicts([made for unit in plan.units if (made := by_unit[unit]) is not None])

    def verdicts(self, outcomes: Sequence[Outcome]) -> Verdicts:
        """Outcomes without findings that do not count, and the findings that do."""
        outcomes = [self.judged(outcome) for outcome in outcomes]
        found = merged(finding for outcome in outcomes for finding in outcome.findings)
        return Verdicts(outcomes, sorted(found, key=_order))

    def steps(self, plan: Plan, processes: int, *, keep: bool = True) -> Steps:
        """What checks the units of a plan one at a time.

        Args:
            plan: made by `plan`.
            processes: how many such share the machine.
            keep: use and keep results of earlier runs.
        """
        bench = Bench(Engine.of(plan.settings, processes, self.cache), plan.units)
        return Steps(self, bench, self._results(plan, keep=keep))

    def _results(self, plan: Plan, *, keep: bool) -> Results | None:
        # Pictures are drawn by a check, not by looking up its result.
        if not keep or plan.settings.plots is not None:
            return None
        return Results(self.cache, plan.settings, plan.discovery)

    def judged(self, outcome: Outcome) -> Outcome:
        """The outcome without findings that are not selected or that a comment suppresses.

        Findings in a notebook have rows of its whole program until then, and those of a cell afterwards.
        """
        kept = filter(self._counts, outcome.findings)
        return replace(outcome, findings=tuple(map(_in_cell, kept)))

    def _counts(self, finding: Finding) -> bool:
        path = Path(finding.location.filename)
        config = self._configs.for_folder(path.parent) if path.parent.is_dir() else self.config
        if not is_selected(finding.code, True, _runtime_part(config), config.ignore):
            return False
        suppressions = self._suppressions_of(path)
        suppressed = suppressions.skips(finding) or bool(suppressions.covering(finding))
        return not (suppressed or is_left_out(finding.code, path, config))

    def _suppressions_of(self, path: Path) -> Suppressions:
        name = str(path)
        if name not in self._suppressions:
            try:
                self._suppressions[name] = read_suppressions(read_source(name, read_program(path)).text)
            except (OSError, SourceError):
                self._suppressions[name] = Suppressions()
        return self._suppressions[name]


class Steps:
    """Checks units one at a time, as a test runner asks for them; made by `Harness.steps`."""

    def __init__(self, harness: Harness, bench: Bench, results: Results | None) -> None:
        self._harness = harness
        self._bench = bench
        self._results = results

    def check(self, unit: Unit) -> list[Outcome]:
        """The outcome of a unit, then new ones of earlier units to which a crash was traced.

        Raises:
            WorkerError: PyTorch cannot be imported.
        """
        known = self._results.get(unit) if self._results else None
        outcomes = [known] if known is not None else self._bench.check(unit)
        if self._results and known is None:
            for outcome in outcomes:
                self._results.put(outcome)
        return [self._harness.judged(outcome) for outcome in outcomes]

    def close(self) -> None:
        """End the worker."""
        self._bench.close()


def _runtime_part(config: Config) -> Sequence[str]:
    """The selectors that count here: a selection of static rules alone leaves all run-time codes on."""
    wanted = (*config.select, *config.extend_select)
    if any(selector in ("ALL", "default") or selector.startswith("GC") for selector in wanted):
        return wanted
    return ("default", *wanted)


def _in_cell(finding: Finding) -> Finding:
    name = finding.location.filename
    if not name.endswith(".ipynb") or finding.location.cell is not None:
        return finding
    try:
        return read_source(name, read_program(Path(name))).in_file(finding)
    except (OSError, SourceError):
        return finding


def _order(finding: Finding) -> tuple[object, ...]:
    return (*finding.sort_key(), finding.device or "", finding.dtype or "")


class _Teller:
    """Keeps outcomes, lest a run that is broken off lose them, and counts them for a progress bar.

    Slots tell it from their own threads.
    """

    def __init__(
        self, total: int, sofar: list[Outcome], results: Results | None, progress: Progress | None
    ) -> None:
        self._total = total
        self._sofar = sofar
        self._results = results
        self._progress = progress
        self._lock = threading.Lock()
        self._say()

    def tell(self, outcome: Outcome) -> None:
        with self._lock:
            self._sofar.append(outcome)
            if self._results is not None:
                self._results.put(outcome)
            self._say()

    def _say(self) -> None:
        if self._progress is not None:
            self._progress(len(self._sofar), self._total)
