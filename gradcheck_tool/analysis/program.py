"""The static engine on one program: text in, findings out, no output of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.modules import find_module
from gradcheck_tool.sources.source import read_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gradcheck_tool.domain.events import Event, Site
    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.ir.outline import Outline
    from gradcheck_tool.library.model_packs import ModelPacks
    from gradcheck_tool.rulebook.ruleset import RuleSet
    from gradcheck_tool.triage.triage import Candidates, Triage

# `imports(dotted, level)` is the IR of another file of the repository, or None.
Imports = Callable[[str, int], "ModuleIR | None"]


@dataclass(frozen=True)
class Look:
    """What a file's text tells before it is lowered.

    Both are None where Python's parser refuses the file.
    """

    outline: Outline | None
    candidates: Candidates | None

    @classmethod
    def at(cls, source: str, triage: Triage) -> Look:
        """Look at a program."""
        from gradcheck_tool.ir.outline import outline

        found = outline(source)
        return cls(found, None if found is None else triage.candidates(found))

    @property
    def is_clear(self) -> bool:
        """Can the file hold no finding?"""
        return self.candidates is not None and not self.candidates


@dataclass(frozen=True)
class ImportContext:
    """What a program is checked with.

    Attributes:
        imports: finds other files of the repository; without it, every import is unknown.
        sketches: the same, where the modules may be light.
        unfinished: gets the names of the functions that reached the work limit.
        models: what libraries do; the models that are built in if not given.
    """

    imports: Imports | None = None
    sketches: Imports | None = None
    unfinished: list[str] = field(default_factory=list)
    models: ModelPacks | None = None


def check_source(
    source: str,
    filename: str,
    ruleset: RuleSet,
    surroundings: ImportContext | None = None,
) -> list[Finding]:
    """Check one program, whatever its suppression comments say.

    A program is executed as light nodes. Where it does not run by itself, what its candidates do not reach is
    left out at first, and only what gives a finding so is executed as a whole.

    Args:
        source: Python code.
        filename: the name that findings carry.
        ruleset: the rules to judge by.
        surroundings: the rest of the repository.

    Returns:
        Findings in order of place.

    Raises:
        libcst.ParserSyntaxError: the program is not Python.
    """
    around = surroundings or ImportContext()
    look = Look.at(source, ruleset.triage)
    if look.is_clear:
        return []
    from gradcheck_tool.ir.spans import UnplacedError

    if look.outline is not None:
        events = _light_events(look, look.outline, filename, ruleset, around)
        try:
            return ruleset.judge(events, _locate)
        except UnplacedError:
            around.unfinished.clear()
    from gradcheck_tool.analysis.entries import ExecutionPlan, analyze, needed
    from gradcheck_tool.ir.lower import lower_module

    module = lower_module(source, filename)
    plan = ExecutionPlan.whole(module, look.candidates)
    trackers = needed(ruleset)
    events = analyze(module, around.imports, plan, around.unfinished, trackers, around.models)
    return ruleset.judge(events, _locate)


def _light_events(
    look: Look, outline: Outline, filename: str, ruleset: RuleSet, around: ImportContext
) -> Sequence[Event]:
    """What happens in a program, executed as light nodes; nothing where a first look finds nothing.

    Where such a look reaches its work limit in code that trains, a longer one has to tell.
    """
    from gradcheck_tool.analysis.entries import ExecutionPlan, analyze, needed
    from gradcheck_tool.ir.lower import lower_light, lower_outline

    def execute(module: ModuleIR, plan: ExecutionPlan) -> Sequence[Event]:
        around.unfinished.clear()
        imports = around.sketches or around.imports
        return analyze(module, imports, plan, around.unfinished, needed(ruleset), around.models)

    candidates = look.candidates
    if candidates is not None and not candidates.body:
        part = lower_outline(outline, filename, candidates.functions)
        found = ruleset.finds(execute(part, ExecutionPlan.sketch(part, candidates)))
        if not found and around.unfinished and candidates.trains:
            longer = replace(ExecutionPlan.whole(part, candidates), starts=candidates.trains)
            found = ruleset.finds(execute(part, longer))
        if not found:
            return ()
    module = lower_light(outline, filename)
    return execute(module, ExecutionPlan.whole(module, candidates))


def _locate(site: Site) -> Location:
    from gradcheck_tool.ir.positions import locate

    return locate(site.module, site.node)


class Modules:
    """Lowered files of the repository that others import; the oldest are dropped beyond `keep`.

    Attributes:
        asked: every import that was asked for since the list was last cleared, as
            `(importer, dotted name, dots)`. A result depends on what these lead to.
    """

    def __init__(self, keep: int = 256) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self._keep = keep
        self._lowered: dict[tuple[Path, bool], ModuleIR | None] = {}
        self._found: dict[tuple[Path, str, int], Path | None] = {}

    def around(self, importer: Path, models: ModelPacks | None = None) -> ImportContext:
        """The repository as one file sees it, with the models of the libraries that it may import."""
        whole = self._imports_of(importer, partial=False)
        return ImportContext(whole, self._imports_of(importer, partial=True), models=models)

    def _imports_of(self, importer: Path, *, partial: bool) -> Imports:
        def imports(dotted: str, level: int) -> ModuleIR | None:
            self.asked.append((str(importer), dotted, level))
            # Files of a folder import the same, but for themselves.
            own = importer.stem in ("__init__", dotted.partition(".")[0])
            key = (importer if own else importer.parent, dotted, level)
            if key not in self._found:
                self._found[key] = find_module(importer, dotted, level)
            path = self._found[key]
            return None if path is None else self._lower(path, partial)

        return imports

    def _lower(self, path: Path, partial: bool) -> ModuleIR | None:
        key = (path, partial)
        if key not in self._lowered:
            while len(self._lowered) >= self._keep:
                del self._lowered[next(iter(self._lowered))]
            self._lowered[key] = _lower_file(path, partial)
        return self._lowered[key]


def _lower_file(path: Path, partial: bool) -> ModuleIR | None:
    """A module that cannot be read is as unknown as one that is not in the repository."""
    from gradcheck_tool.ir.lower import lower_outline
    from gradcheck_tool.ir.outline import outline

    try:
        text = read_source(str(path), path.read_bytes()).text
        found = outline(text) if partial else None
        return _lower_whole(text, str(path)) if found is None else lower_outline(found, str(path))
    except (OSError, SourceError, RecursionError):
        return None


def _lower_whole(source: str, filename: str) -> ModuleIR | None:
    """Importing libcst takes longer than most files do: it waits for the first that needs it."""
    from libcst import ParserSyntaxError

    from gradcheck_tool.ir.lower import lower_module

    try:
        return lower_module(source, filename)
    except ParserSyntaxError:
        return None
