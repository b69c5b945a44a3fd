"""All subclasses of `torch.autograd.Function` in some files, found without importing anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.harness.bindings import Alias, ClassStatement, FileNames, Imported, Scope, read_names
from gradcheck_tool.harness.functions import FunctionRef
from gradcheck_tool.harness.roots import place_of
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.modules import find_module
from gradcheck_tool.sources.source import read_source
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

# The names of PyTorch's own base classes; all but the first two are documented nowhere, and used anyway.
BASES = frozenset(
    f"{module}.{name}"
    for module in ("torch.autograd", "torch.autograd.function")
    for name in ("Function", "InplaceFunction", "NestedIOFunction")
)

# A file that defines a Function says one of these words, be it a subclass of another file's Function.
_WORDS = re.compile(rb"Function|backward|forward|autograd")


class Discovery:
    """Finds Functions, remembering the files that it has read.

    Attributes:
        problems: `(file, why)` of files that could not be read, in the order they were met.
    """

    def __init__(self) -> None:
        self.problems: list[tuple[str, str]] = []
        self._files: dict[Path, FileNames | None] = {}
        self._verdicts: dict[ClassStatement, bool] = {}

    def functions(self, files: Iterable[Path]) -> list[FunctionRef]:
        """The Functions of some files (absolute paths), in order of file and row.

        Of classes with one qualified name in one file the last counts, as at run time.
        """
        found: dict[tuple[str, str], FunctionRef] = {}
        for path in files:
            for ref in self._in_file(path):
                found[ref.filename, ref.qualname] = ref
        return sorted(found.values())

    def dependencies(self, path: Path) -> set[Path]:
        """The files of the repository that a file imports, directly or not, and the file itself."""
        seen: set[Path] = set()
        pending = [path]
        while pending:
            here = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            names = self._read(here)
            pending += _imported_files(here, names.scope) if names else ()
        return seen

    def _in_file(self, path: Path) -> Iterator[FunctionRef]:
        try:
            relevant = _WORDS.search(read_program(path))
        except OSError as error:
            self.problems.append((str(path), error.strerror or str(error)))
            return
        names = self._read(path) if relevant else None
        if names is None:
            return
        module, root = place_of(path, names.level)
        for made in names.classes:
            if self._is_function(made, path):
                methods = made.methods
                yield FunctionRef(
                    filename=str(path),
                    rows=made.rows,
                    qualname=made.qualname,
                    module=module,
                    root=str(root),
                    forward=methods.get("forward"),
                    backward=methods.get("backward") or methods.get("vjp"),
                )

    def _read(self, path: Path) -> FileNames | None:
        if path not in self._files:
            try:
                self._files[path] = read_names(read_source(str(path), read_program(path)).text)
            except (OSError, SourceError, SyntaxError, ValueError, RecursionError) as error:
                self.problems.append((str(path), f"cannot be parsed: {error}"))
                self._files[path] = None
        return self._files[path]

    def _is_function(self, made: ClassStatement, path: Path) -> bool:
        if made not in self._verdicts:
            self._verdicts[made] = False  # a class is no base of itself
            self._verdicts[made] = any(
                self._means_function(dotted, made.scope, path, set()) for dotted in made.bases
            )
        return self._verdicts[made]

    def _means_function(self, dotted: str, scope: Scope, path: Path, seen: set[tuple[Path, str]]) -> bool:
        """Whether a dotted name, as written in a scope of a file, may be a Function class.

        `seen` are the names that were followed for the same question: star imports lead to them many times.
        """
        if (path, dotted) in seen:
            return False
        seen.add((path, dotted))
        first, _, rest = dotted.partition(".")
        bindings = scope.lookup(first) or [Imported(star.module, star.level, first) for star in _stars(scope)]
        for binding in bindings:
            if isinstance(binding, ClassStatement):
                inner = f"{binding.qualname}.{rest}"
                if self._class_means_function(binding, inner if rest else binding.qualname, path):
                    return True
            elif isinstance(binding, Alias):
                longer = f"{binding.dotted}.{rest}" if rest else binding.dotted
                if self._means_function(longer, scope, path, seen):
                    return True
            elif self._import_means_function(binding, rest, path, seen):
                return True
        return False

    def _class_means_function(self, made: ClassStatement, qualname: str, path: Path) -> bool:
        """The class itself, or one that stands inside it."""
        if qualname == made.qualname:
            return self._is_function(made, path)
        names = self._read(path)
        inner = [c for c in names.classes if c.qualname == qualname] if names else []
        return any(self._is_function(c, path) for c in inner)

    def _import_means_function(
        self, imported: Imported, rest: str, path: Path, seen: set[tuple[Path, str]]
    ) -> bool:
        """Follow an import to PyTorch's base classes or to another file of the repository."""
        parts = [part for part in (imported.module, imported.attribute, rest) if part]
        full = ".".join(parts)
        if imported.level == 0 and full in BASES:
            return True
        words = full.split(".")
        # What stands after `from` is a module by itself: where that is missing, its package is no substitute.
        least = len(imported.module.split(".")) if imported.module else 0
        for count in range(len(words) - 1, least - 1, -1):
            target = find_module(path, ".".join(words[:count]), imported.level)
            if target is not None and target != path:
                names = self._read(target)
                wanted = ".".join(words[count:])
                return names is not None and self._means_function(wanted, names.scope, target, seen)
        return False


def _stars(scope: Scope) -> list[Imported]:
    """The star imports that are visible in a scope."""
    found: list[Imported] = []
    inner: Scope | None = scope
    while inner is not None:
        found += inner.stars
        inner = inner.outer
    return found


def _imported_files(path: Path, scope: Scope) -> Iterator[Path]:
    """The files of the repository that the names of a module's own scope come from."""
    bindings = [b for group in scope.names.values() for b in group if isinstance(b, Imported)]
    for imported in (*bindings, *scope.stars):
        for dotted in {imported.module, f"{imported.module}.{imported.attribute}".strip(".")}:
            found = find_module(path, dotted, imported.level) if dotted or imported.level else None
            if found is not None:
                yield found
