"""The texts of a repository's files, for questions about all of them: who mentions, who calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradcheck_tool.sources.modules import root_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gradcheck_tool.session.modules import ModuleCache
    from gradcheck_tool.sources.discover import Discovery

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)
_NAME = re.compile(rb"[\w.]+")


class Repository:
    """Reads the files of the repositories that questions are about, each once.

    Attributes:
        looked_at: what was walked and read.
    """

    def __init__(
        self, folder: Path, modules: Callable[[], ModuleCache], discover: Callable[[Path], Discovery]
    ) -> None:
        """`folder` stands for the repository of files below it that nothing marks as part of one.

        `modules` is asked for when the first text is.
        """
        self.looked_at: list[Discovery] = []
        self._folder = folder
        self._modules = modules
        self._discover = discover
        self._changes = 0
        self._texts: dict[Path, dict[Path, bytes]] = {}
        self._bases: dict[Path, dict[str, set[str]]] = {}

    def texts(self, path: Path) -> dict[Path, bytes]:
        """The Python files of the repository that a file belongs to, and what stands in them."""
        changes = self._modules().changes
        if self._changes != changes:
            self._texts.clear()
            self._bases.clear()
            self._changes = changes
        root = self._root(path)
        if root not in self._texts:
            found = self._discover(root)
            self.looked_at.append(found)
            self._texts[root] = dict(self._read(found.files))
        return self._texts[root]

    def family(self, path: Path, name: str) -> set[str]:
        """The classes that a class derives from, and those that derive from it, by their last names."""
        bases = self._bases_in(path)
        derived = {name}
        grew = True
        while grew:
            more = {each for each, of in bases.items() if each not in derived and of & derived}
            derived |= more
            grew = bool(more)
        above, waiting = set[str](), [name]
        while waiting:
            found = bases.get(waiting.pop(), set()) - above
            above |= found
            waiting += found
        return derived | (above & bases.keys())

    def _bases_in(self, path: Path) -> dict[str, set[str]]:
        """The last names of the bases of each class of the repository; classes of one name count as one."""
        texts = self.texts(path)
        root = self._root(path)
        if root not in self._bases:
            found = self._bases[root] = {}
            for data in texts.values():
                for name, bases in _CLASS.findall(data):
                    named = (base.decode().rpartition(".")[2] for base in _NAME.findall(bases))
                    found.setdefault(name.decode(), set()).update(named)
        return self._bases[root]

    def _root(self, path: Path) -> Path:
        marked = root_of(path)
        if marked is not None:
            return marked
        return self._folder if path.is_relative_to(self._folder) else path.parent

    def _read(self, files: list[Path]) -> Iterator[tuple[Path, bytes]]:
        for path in files:
            if path.suffix != ".py":
                continue
            try:
                yield path, self._modules().read(path)
            except OSError:
                continue
