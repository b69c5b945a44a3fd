"""The files of a repository that others import, lowered once for all of them."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.analysis.import_context import ImportContext, Imports
from gradcheck_tool.sources.errors import SourceError
from gradcheck_tool.sources.modules import find_module, forget_roots
from gradcheck_tool.sources.source import read_source
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gradcheck_tool.ir.nodes import ModuleIR
    from gradcheck_tool.library.model_packs import ModelPacks


class ModuleCache:
    """Lowered files of the repository that others import; the oldest are dropped beyond `keep`.

    Attributes:
        asked: every import that was asked for since the list was last cleared, as
            `(importer, dotted name, dots)`. A result depends on what these lead to.
        changes: how often a file was taken to be another than before.
    """

    def __init__(self, keep: int = 256) -> None:
        self.asked: list[tuple[str, str, int]] = []
        self.changes = 0
        self._keep = keep
        self._texts: dict[Path, bytes] = {}
        self._lowered: dict[tuple[Path, bool], ModuleIR | None] = {}
        self._found: dict[tuple[Path, str, int], Path | None] = {}

    @property
    def has_texts(self) -> bool:
        """Are there files whose text is not that on disk?"""
        return bool(self._texts)

    def read(self, path: Path) -> bytes:
        """The bytes of a file: as they were updated last, or as they are on disk.

        Raises:
            OSError: it cannot be read.
        """
        text = self._texts.get(path)
        return read_program(path) if text is None else text

    def update(self, path: Path, text: str) -> None:
        """Take a file to have this text from now on."""
        self.forget(path)
        self._texts[path] = text.encode(errors="surrogatepass")

    @contextmanager
    def having(self, path: Path, data: bytes) -> Iterator[None]:
        """Take a file to have these bytes for a while."""
        before = self._texts.get(path)
        self.forget(path)
        self._texts[path] = data
        try:
            yield
        finally:
            self.forget(path)
            if before is not None:
                self._texts[path] = before

    def forget(self, path: Path) -> None:
        """Take a file to be as it is on disk.

        Where imports lead may change with it, and what each module's body has left that was executed.
        """
        from gradcheck_tool.interp.imports import forget_modules

        self._texts.pop(path, None)
        for partial in (True, False):
            self._lowered.pop((path, partial), None)
        self._found.clear()
        self.changes += 1
        forget_roots()
        forget_modules()

    def around(self, importer: Path, models: ModelPacks | None = None) -> ImportContext:
        """The repository as one file sees it, with the models of the libraries that it may import."""
        whole = self._imports_of(importer, partial=False)
        return ImportContext(whole, self._imports_of(importer, partial=True), models=models)

    def _imports_of(self, main: Path, *, partial: bool) -> Imports:
        def imports(importer: str, dotted: str, level: int) -> ModuleIR | None:
            # A script's own folder is where absolute imports start, whichever module they stand in.
            starts = (Path(importer),) if level else dict.fromkeys((main, Path(importer)))
            found = (self.find(start, dotted, level) for start in starts)
            path = next((path for path in found if path is not None), None)
            return None if path is None else self._lower(path, partial)

        return imports

    def find(self, importer: Path, dotted: str, level: int) -> Path | None:
        """The file that an import in a file leads to."""
        self.asked.append((str(importer), dotted, level))
        # Files of a folder import the same, but for themselves.
        own = importer.stem in ("__init__", dotted.partition(".")[0])
        key = (importer if own else importer.parent, dotted, level)
        if key not in self._found:
            self._found[key] = find_module(importer, dotted, level, unsaved=self._texts)
        return self._found[key]

    def _lower(self, path: Path, partial: bool) -> ModuleIR | None:
        key = (path, partial)
        if key not in self._lowered:
            while len(self._lowered) >= self._keep:
                del self._lowered[next(iter(self._lowered))]
            self._lowered[key] = self._lower_file(path, partial)
        return self._lowered[key]

    def _lower_file(self, path: Path, partial: bool) -> ModuleIR | None:
        """A module that cannot be read is as unknown as one that is not in the repository."""
        from gradcheck_tool.ir.lower import lower_outline
        from gradcheck_tool.ir.outline import outline

        try:
            text = read_source(str(path), self.read(path)).text
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
