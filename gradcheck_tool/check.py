"""The static engine on one program: text in, findings out, no output of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradcheck_tool.sources.modules import find_module
from gradcheck_tool.sources.source import SourceError, read_source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gradcheck_tool.autograd.events import Event, Site
    from gradcheck_tool.findings import Finding, Location
    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.ir.positions import Positions
    from gradcheck_tool.ruleset import RuleSet

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


class Modules:
    """Lowered files of the repository that others import; the oldest are dropped beyond `keep`.

    Attributes:
        asked: every import that was asked for since the list was last cleared, as
            `(importer, dotted name, dots)`. A result depends on what these lead to.
    """

    def __init__(self, keep: int = 64) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self._keep = keep
        self._lowered: dict[Path, ModuleIR | None] = {}

    def imports_of(self, importer: Path) -> Imports:
        """The finder for one file's imports."""

        def imports(dotted: str, level: int) -> ModuleIR | None:
            self.asked.append((str(importer), dotted, level))
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
