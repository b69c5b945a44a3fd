"""Which files of a repository lead to gradients through what they import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.triage.imported import (
    Imported,
    definition_in,
    differentiates,
    imports_in,
    is_function_class,
    may_call,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gradcheck_tool.session.modules import ModuleCache
# Files that imports are followed through.
FOLLOWED = 16
# How often a name may be handed on until it is defined.
HANDED_ON = 3


class ImportGraph:
    """Follows imports through the files of a repository, judged by their bytes, each read once."""

    def __init__(self, modules: ModuleCache) -> None:
        self._modules = modules
        self._changes = modules.changes
        self._uses: dict[Path, tuple[bool, list[Imported]]] = {}
        self._computing: dict[tuple[Path, str], bool] = {}

    def may_lead(self, importer: Path, data: bytes) -> bool:
        """May a file of these bytes run code of other files that computes gradients?"""
        return may_call(data) and self.leads(importer, list(imports_in(data)))

    def leads(self, importer: Path, imports: Iterable[Imported]) -> bool:
        """Do imports lead, through others perhaps, to code of the repository that computes gradients?"""
        self._forget_changed()
        waiting = list(dict.fromkeys(path for one in imports for path in self.files_of(importer, one)))
        for path in waiting:
            if path not in self._uses:
                self._uses[path] = self._uses_of(path)
            computes, further = self._uses[path]
            if computes:
                return True
            if len(waiting) < FOLLOWED:
                found = [more for one in further for more in self.files_of(path, one)]
                waiting += dict.fromkeys(more for more in found if more not in waiting)
        return False

    def imports_what_computes(self, importer: Path, data: bytes) -> bool:
        """Does a file of these bytes import, by its name, what computes gradients?"""
        return any(
            self.computes(importer, Imported(one.module, one.level, (name,)), "")
            for one in imports_in(data)
            for name in one.names
        )

    def computes(self, importer: Path, imported: Imported, attribute: str) -> bool:
        """Does what is called of an import compute gradients itself, or is it a custom Function?"""
        self._forget_changed()
        own = self._modules.find(importer, imported.module, imported.level) if imported.module else None
        found = self.files_of(importer, imported)
        return any(
            self._name_computes(path, imported.names[0] if path == own and imported.names else attribute)
            for path in found
        )

    def _name_computes(self, path: Path, name: str, depth: int = HANDED_ON) -> bool:
        key = path, name
        if key not in self._computing:
            self._computing[key] = False
            self._computing[key] = bool(name) and self._defined_computes(path, name, depth)
        return self._computing[key]

    def _defined_computes(self, path: Path, name: str, depth: int) -> bool:
        """Does the definition of a name compute gradients, where the file or one that it imports has it?"""
        try:
            data = self._modules.read(path)
        except OSError:
            return False
        text = definition_in(data, name)
        if text is not None:
            return differentiates(text) or is_function_class(text)
        handed_on = (one for one in imports_in(data) if name in one.names) if depth else ()
        return any(
            self._name_computes(inner, name, depth - 1)
            for one in handed_on
            for inner in self.files_of(path, one)
        )

    def _forget_changed(self) -> None:
        """Forget what was worked out of files that have changed since."""
        if self._changes != self._modules.changes:
            self._uses.clear()
            self._computing.clear()
            self._changes = self._modules.changes

    def files_of(self, importer: Path, imported: Imported) -> list[Path]:
        """The file of the module that is imported, and those of the names that are modules in it."""
        own = self._modules.find(importer, imported.module, imported.level) if imported.module else None
        found = [] if own is None else [own]
        if own is None or own.stem == "__init__":
            names = (f"{imported.module}.{name}".lstrip(".") for name in imported.names)
            inner = (self._modules.find(importer, name, imported.level) for name in names)
            found += [path for path in inner if path is not None]
        return found

    def _uses_of(self, path: Path) -> tuple[bool, list[Imported]]:
        """Whether a file computes gradients itself; if not, what it imports."""
        try:
            data = self._modules.read(path)
        except OSError:
            return False, []
        computes = differentiates(data)
        return computes, [] if computes else list(imports_in(data))
