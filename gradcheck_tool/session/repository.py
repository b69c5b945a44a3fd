"""The texts of a repository's files, for questions about all of them: who mentions, who calls."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.cache.caches import CALLERS
from gradcheck_tool.cache.store import digest
from gradcheck_tool.config import Config
from gradcheck_tool.sources.discover import discover
from gradcheck_tool.sources.modules import root_of
from gradcheck_tool.triage.imported import definition_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gradcheck_tool.session.modules import ModuleCache
    from gradcheck_tool.sources.discover import Discovery

_CLASS = re.compile(rb"^[ \t]*class[ \t]+(\w+)[ \t]*\(([^)]*)\)", re.MULTILINE)
_NAME = re.compile(rb"[\w.]+")
_CALLED = re.compile(rb"\b([^\W\d]\w*)\(")
# How many names are looked for in all texts before it is worth while to list all names that are called.
FEW = 20
# A folder that nothing marks as a repository is one only if it holds no more files and folders.
MOST_ENTRIES = 10_000


@dataclass(slots=True)
class _Texts:
    """The files below one folder, and what was worked out of them."""

    texts: dict[Path, bytes]
    bases: dict[str, set[str]] | None = None
    calls: dict[bytes, list[Path]] | None = None
    callers: dict[str, list[Path]] = field(default_factory=dict)
    having: dict[tuple[str, ...], list[tuple[Path, str]]] = field(default_factory=dict)


class Repository:
    """Reads the files of the repositories that questions are about, each once.

    Attributes:
        folder: what stands for the repository of files below it that nothing marks as part of one, unless
            it is too large for that; then the file's own folder does, or the file alone.
        looked_at: what was walked and read.
    """

    def __init__(self, modules: ModuleCache) -> None:
        self.folder = Path.cwd()
        self.looked_at: list[Discovery] = []
        self._modules = modules
        self._changes = modules.changes
        self._known: dict[Path, _Texts] = {}
        self._projects: dict[Path, bool] = {}

    def texts(self, path: Path) -> dict[Path, bytes]:
        """The Python files of the repository that a file belongs to, and what stands in them."""
        return self._around(path).texts

    def callers(self, path: Path, name: str) -> list[Path]:
        """The other files that call something of this name."""
        around = self._around(path)
        if name not in around.callers:
            around.callers[name] = list(self._calling(around, name))
        return [other for other in around.callers[name] if other != path]

    def having(self, path: Path, names: Sequence[str]) -> list[tuple[Path, str]]:
        """The classes of modules of the repository that have all these methods and attributes of `self`."""
        around = self._around(path)
        key = tuple(names)
        if key not in around.having:
            around.having[key] = [
                (other, name)
                for other, data in around.texts.items()
                if all(each.encode() in data for each in names)
                for name, members in _classes_in(data, names)
                if members >= set(names) and self.is_module(other, name)
            ]
        return around.having[key]

    def state(self, path: Path, names: str, kind: int) -> str:
        """A digest of the files that call something of a name, or that have classes with such members."""
        texts = self.texts(path)
        found = self.callers(path, names) if kind == CALLERS else dict(self.having(path, names.split()))
        return digest("".join(f"{each}\0{digest(texts[each])}\n" for each in found).encode())

    def family(self, path: Path, name: str) -> set[str]:
        """The classes that a class derives from, and those that derive from it, by their last names."""
        bases = self._bases(path)
        derived = {name}
        grew = True
        while grew:
            more = {each for each, of in bases.items() if each not in derived and of & derived}
            derived |= more
            grew = bool(more)
        return derived | (self._above(path, name) & bases.keys())

    def is_module(self, path: Path, name: str) -> bool:
        """Does a class derive from one that is called as torch's modules are?"""
        return "Module" in self._above(path, name)

    def dotted(self, importer: Path, path: Path) -> str:
        """The name of a file as a module of the repository; empty where it has none."""
        root = self._root(importer)
        if path == root or not path.is_relative_to(root):
            return ""
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        return ".".join(parts[1:] if parts[:1] == ["src"] else parts)

    def _calling(self, around: _Texts, name: str) -> Iterator[Path]:
        if len(around.callers) >= FEW and around.calls is None:
            around.calls = {}
            for path, data in around.texts.items():
                for each in set(_CALLED.findall(data)):
                    around.calls.setdefault(each, []).append(path)
        if around.calls is not None:
            yield from around.calls.get(name.encode(), ())
            return
        called = re.compile(rb"\b" + re.escape(name.encode()) + rb"\(")
        word = name.encode() + b"("
        for path, data in around.texts.items():
            if word in data and called.search(data):
                yield path

    def _above(self, path: Path, name: str) -> set[str]:
        """The last names of the classes that a class derives from."""
        bases = self._bases(path)
        found, waiting = set[str](), [name]
        while waiting:
            more = bases.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        return found

    def _bases(self, path: Path) -> dict[str, set[str]]:
        """The last names of the bases of each class of the repository; classes of one name count as one."""
        around = self._around(path)
        if around.bases is None:
            around.bases = {}
            for data in around.texts.values():
                for name, bases in _CLASS.findall(data):
                    named = (base.decode().rpartition(".")[2] for base in _NAME.findall(bases))
                    around.bases.setdefault(name.decode(), set()).update(named)
        return around.bases

    def _around(self, path: Path) -> _Texts:
        if self._changes != self._modules.changes:
            self._known.clear()
            self._changes = self._modules.changes
        root = self._root(path)
        if root not in self._known:
            found = discover([root], lambda _: Config(root))
            self.looked_at.append(found)
            self._known[root] = _Texts(dict(self._read(found.files)))
        return self._known[root]

    def _root(self, path: Path) -> Path:
        marked = root_of(path)
        if marked is not None:
            return marked
        folders = (self.folder, path.parent) if path.is_relative_to(self.folder) else (path.parent,)
        return next(filter(self._is_project, folders), path)

    def _is_project(self, folder: Path) -> bool:
        """Is a folder that nothing marks small enough to be a project, not all that somebody keeps?"""
        if folder not in self._projects:
            entries = (len(inner) + len(files) for _, inner, files in os.walk(folder))
            self._projects[folder] = all(total <= MOST_ENTRIES for total in accumulate(entries))
        return self._projects[folder]

    def _read(self, files: list[Path]) -> Iterator[tuple[Path, bytes]]:
        for path in files:
            if path.suffix != ".py":
                continue
            try:
                yield path, self._modules.read(path)
            except OSError:
                continue


def _classes_in(data: bytes, names: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """The classes at the top level of a file, with those of the names that are their members."""
    wanted = b"|".join(re.escape(name.encode()) for name in names)
    member = re.compile(rb"\bself\.(" + wanted + rb")\b[^=\n(\[]*=(?!=)|\bdef[ \t]+(" + wanted + rb")\b")
    for found in re.finditer(rb"^class[ \t]+(\w+)", data, re.MULTILINE):
        name = found[1].decode()
        text = definition_in(data, name) or b""
        yield name, {(one or other).decode() for one, other in member.findall(text)}
