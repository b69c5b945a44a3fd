"""Model packs: folders of Python that says what libraries do, looked up by qualified name.

The Python is never imported: it is parsed, lowered, and executed by the interpreter alone.
"""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gradcheck_tool.ir.nodes import ModuleIR

BUILTIN = Path(__file__).parent / "models"


class ModelPackError(Exception):
    """A model pack cannot be used; the text names it and says why."""


class ModelPacks:
    """The models of libraries: those of the given folders, then those built in.

    Attributes:
        names: the top-level names of libraries that are modelled. A file that imports one of them is worth
            executing, whether it mentions torch or not.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self._folders = (*folders, BUILTIN)
        self.names = frozenset(name for folder in self._folders for name in _top_level(folder))
        self._prefixes = tuple(f"{folder}{os.sep}" for folder in self._folders)
        self._files: dict[str, Path | None] = {}
        self._splits: dict[str, tuple[str, tuple[str, ...]] | None] = {}

    def split(self, name: str) -> tuple[str, tuple[str, ...]] | None:
        """The innermost modelled module on the way to a qualified name, and the names that are left."""
        if name not in self._splits:
            self._splits[name] = self._split(name.split("."))
        return self._splits[name]

    def _split(self, parts: list[str]) -> tuple[str, tuple[str, ...]] | None:
        if parts[0] not in self.names:
            return None
        for count in range(len(parts), 0, -1):
            dotted = ".".join(parts[:count])
            if self._file(dotted) is not None:
                return dotted, tuple(parts[count:])
        return None

    def module(self, dotted: str) -> ModuleIR | None:
        """The model of a module, lowered once a process; None where there is none that Python can parse."""
        path = self._file(dotted)
        return None if path is None else _lowered(path)

    def has(self, filename: str) -> bool:
        """Is a file a model of one of the packs?"""
        return filename.startswith(self._prefixes)

    def _file(self, dotted: str) -> Path | None:
        if dotted not in self._files:
            self._files[dotted] = _find(self._folders, dotted)
        return self._files[dotted]


def model_packs(folders: tuple[Path, ...]) -> ModelPacks:
    """The models of some packs, and those built in, remembered as long as no file is added or removed."""
    return _remembered(folders, tuple(sorted(path for folder in folders for path in folder.rglob("*.py"))))


@lru_cache(maxsize=16)
def _remembered(folders: tuple[Path, ...], files: tuple[Path, ...]) -> ModelPacks:
    return ModelPacks(folders)


def check_packs(folders: Iterable[Path]) -> None:
    """Refuse packs that hold no models.

    Raises:
        ModelPackError: a folder is missing, has no Python, or has some that does not parse.
    """
    for folder in folders:
        if not folder.is_dir():
            raise ModelPackError(f"model pack {folder} is not a folder")
        files = sorted(folder.rglob("*.py"))
        if not files:
            raise ModelPackError(f"model pack {folder} has no Python files")
        for path in files:
            _check(folder, path)


def _check(folder: Path, path: Path) -> None:
    try:
        ast.parse(read_program(path), str(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ModelPackError(f"model pack {folder}: {path.name} cannot be read: {error}") from error


def modelled_names(folders: Iterable[Path] = ()) -> frozenset[str]:
    """The top-level names of libraries that packs model, those built in included."""
    return frozenset(name for folder in (*folders, BUILTIN) for name in _top_level(folder))


def _top_level(folder: Path) -> set[str]:
    found = folder.iterdir() if folder.is_dir() else ()
    return {
        path.stem for path in found if path.stem.isidentifier() and (path.suffix == ".py" or path.is_dir())
    }


def _find(folders: Iterable[Path], dotted: str) -> Path | None:
    for folder in folders:
        target = folder.joinpath(*dotted.split("."))
        for path in (target / "__init__.py", target.with_name(f"{target.name}.py")):
            # Unlike Path.is_file, this takes a name that is too long for one of a file that is not there.
            if os.path.isfile(path):  # noqa: PTH113
                return path
    return None


_LOWERED: dict[tuple[Path, int], ModuleIR | None] = {}


def _lowered(path: Path) -> ModuleIR | None:
    key = (path, path.stat().st_mtime_ns)
    if key not in _LOWERED:
        _LOWERED[key] = _lower(path)
    return _LOWERED[key]


def _lower(path: Path) -> ModuleIR | None:
    from gradcheck_tool.ir.lower import lower_light
    from gradcheck_tool.ir.outline import outline

    found = outline(read_program(path).decode("utf-8"))
    return None if found is None else lower_light(found, str(path))
