"""The static engine on one program: bytes in, findings out, no output of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sources.modules import find_module
from gradcheck_tool.sources.prefilter import may_hold_findings
from gradcheck_tool.sources.source import SourceError, read_source
from gradcheck_tool.sources.suppression import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradcheck_tool.autograd.events import Event, Site
    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.ir.positions import Positions
    from gradcheck_tool.ruleset import RuleSet
    from gradcheck_tool.sources.suppression import Suppressions

# `imports(dotted, level)` is the IR of another file of the repository, or None.
Imports = Callable[[str, int], "ModuleIR | None"]
Analyze = Callable[["ModuleIR", "Imports | None"], "Sequence[Event]"]


def check_source(
    source: str,
    filename: str,
    ruleset: RuleSet,
    imports: Imports | None = None,
    *,
    analyze: Analyze | None = None,
) -> list[Finding]:
    """Check one program, whatever its suppression comments say.

    Args:
        source: Python code.
        filename: the name that findings carry.
        ruleset: the rules to judge by.
        imports: finds other files of the repository; without it, every import is unknown.
        analyze: takes the place of the abstract interpreter.

    Returns:
        Findings in order of place.

    Raises:
        libcst.ParserSyntaxError: the program is not Python.
    """
    from gradcheck_tool.ir.lower import lower_module

    if analyze is None:
        from gradcheck_tool.interp import analyze as interpret

        analyze = interpret
    module = lower_module(source, filename)
    return ruleset.judge(analyze(module, imports), _Locator())


def check_bytes(
    data: bytes,
    filename: str,
    ruleset: RuleSet,
    *,
    modules: Modules | None = None,
    analyze: Analyze | None = None,
) -> list[Finding]:
    """Check one file's bytes: Python in any encoding, or a notebook. Suppressed findings are left out.

    Raises:
        SourceError: the bytes cannot be decoded or are not Python.
    """
    if not may_hold_findings(data):
        return []
    import libcst

    source = read_source(filename, data)
    modules = modules or Modules()
    try:
        findings = check_source(
            source.text, filename, ruleset, modules.imports_of(Path(filename)), analyze=analyze
        )
    except libcst.ParserSyntaxError as error:
        raise SourceError(f"does not parse: {error.message} at row {error.raw_line}") from error
    except RecursionError as error:
        raise SourceError("is nested too deeply to be analysed") from error
    suppressions: dict[str, Suppressions] = {filename: read_suppressions(source.text)} if findings else {}
    return [source.in_file(finding) for finding in findings if not _is_suppressed(finding, suppressions)]


class Modules:
    """Lowered files of the repository that others import; the oldest are dropped beyond `keep`."""

    def __init__(self, keep: int = 64) -> None:
        self._keep = keep
        self._lowered: dict[Path, ModuleIR | None] = {}

    def imports_of(self, importer: Path) -> Imports:
        """The finder for one file's imports."""

        def imports(dotted: str, level: int) -> ModuleIR | None:
            path = find_module(importer, dotted, level)
            return None if path is None else self._lower(path)

        return imports

    def _lower(self, path: Path) -> ModuleIR | None:
        if path not in self._lowered:
            while len(self._lowered) >= self._keep:
                del self._lowered[next(iter(self._lowered))]
            self._lowered[path] = _lower_file(path)
        return self._lowered[path]


def _lower_file(path: Path) -> ModuleIR | None:
    """A module that cannot be read is as unknown as one that is not in the repository."""
    import libcst

    from gradcheck_tool.ir.lower import lower_module

    try:
        return lower_module(read_source(str(path), path.read_bytes()).text, str(path))
    except (OSError, SourceError, libcst.ParserSyntaxError, RecursionError):
        return None


def _is_suppressed(finding: Finding, known: dict[str, Suppressions]) -> bool:
    """A finding in another file is suppressed by that file's comments."""
    name = finding.location.filename
    if name not in known:
        try:
            known[name] = read_suppressions(read_source(name, Path(name).read_bytes()).text)
        except (OSError, SourceError):
            return False
    return known[name].skip_file or known[name].find(finding) is not None


class _Locator:
    """Turns sites into locations; positions of a module are computed when first needed."""

    def __init__(self) -> None:
        self._positions: dict[int, Positions] = {}

    def __call__(self, site: Site) -> Location:
        from gradcheck_tool.ir.positions import Positions

        positions = self._positions.get(id(site.module))
        if positions is None:
            positions = self._positions[id(site.module)] = Positions(site.module)
        return positions.locate(site.node)
