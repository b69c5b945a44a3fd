"""Where the repository keeps a module that a file imports."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

# A file of these names beside the importing one does not take their place: a program with it would not run.
_LIBRARIES = frozenset({"numpy", "torch"})


def find_module(
    importer: Path,
    dotted: str,
    level: int,
    looked_at: set[Path] | None = None,
    unsaved: Container[Path] = (),
) -> Path | None:
    """The file of a module as seen from a file of the same repository, or None.

    Args:
        importer: absolute path of the importing file.
        dotted: the name after `import` or `from`; empty in `from . import x`.
        level: the number of leading dots.
        looked_at: gets every path that was asked for, whether there is something or not.
        unsaved: files that may not be on disk yet.
    """
    parts = [part for part in dotted.split(".") if part]
    if level:
        base = importer.parent
        for _ in range(level - 1):
            base = base.parent
        return _in_folder(base, parts, looked_at, unsaved)
    roots = _roots(importer.parent, Path.cwd())
    if looked_at is not None:
        looked_at |= roots.looked_at
    for root in roots.folders:
        is_own = root == importer.parent
        if is_own and _is_outside(dotted.partition(".")[0], in_package=root != roots.package):
            continue
        found = _in_folder(root, parts, looked_at, unsaved)
        if found is not None and found != importer:
            return found
    return None


def _is_outside(name: str, *, in_package: bool) -> bool:
    """Is a name never that of a file beside the importing one?

    A script's own folder comes before the standard library. That of a package's module is searched at all
    because it may be run as a script: `utils/math.py` does not keep its siblings from importing `math`.
    """
    return name in _LIBRARIES or (in_package and name in sys.stdlib_module_names)


def _in_folder(
    base: Path, parts: list[str], looked_at: set[Path] | None, unsaved: Container[Path]
) -> Path | None:
    # Most imports are of no file here. Asking for texts takes a third of what asking for paths does.
    target = os.path.join(base, *parts)  # noqa: PTH118
    candidates = [os.path.join(target, "__init__.py"), *([f"{target}.py"] if parts else [])]  # noqa: PTH118
    if looked_at is not None:
        looked_at.update(map(Path, candidates))
    return next(
        (
            Path(candidate)
            for candidate in candidates
            if _is_file(candidate) or (unsaved and Path(candidate) in unsaved)
        ),
        None,
    )


def _is_file(path: Path | str) -> bool:
    # Unlike Path.is_file, this takes what cannot be read for something that is not there.
    return os.path.isfile(path)  # noqa: PTH113


@dataclass(frozen=True)
class _Roots:
    """Folders that absolute imports start from, and the paths whose presence decides which these are.

    `package` is the one that holds the outermost package, `marked` the one that is the root of a repository
    by what stands in it.
    """

    folders: tuple[Path, ...]
    looked_at: frozenset[Path]
    package: Path
    marked: Path | None = None


@lru_cache(maxsize=4096)
def _roots(folder: Path, running: Path) -> _Roots:
    """The script's own folder, the package's, the repository's; where nothing marks that, the running one."""
    top = folder
    looked_at = {top / "__init__.py"}
    while _is_file(top / "__init__.py") and top != top.parent:
        top = top.parent
        looked_at.add(top / "__init__.py")
    roots = [folder, top]
    marked = None
    for parent in (top, *top.parents):
        marks = [parent / mark for mark in (".git", "pyproject.toml", "setup.py", "setup.cfg")]
        looked_at.update(marks)
        if any(mark.exists() for mark in marks):
            roots += [parent, parent / "src"]
            marked = parent
            break
    if marked is None and folder.is_relative_to(running):
        roots += [running, running / "src"]
    return _Roots(tuple(dict.fromkeys(roots)), frozenset(looked_at), top, marked)


def root_of(path: Path) -> Path | None:
    """The folder of the repository that a file belongs to, where something marks it."""
    return _roots(path.parent, Path.cwd()).marked


def forget_roots() -> None:
    """Forget which folders absolute imports start from: files were made or removed."""
    _roots.cache_clear()
