"""The name that a file is imported by, and the folder that this name starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PROJECT = (".git", "pyproject.toml", "setup.py", "setup.cfg")


def place_of(path: Path, level: int) -> tuple[str, Path]:
    """The dotted module name of a file and the folder to import it from.

    Args:
        path: absolute path of a Python file.
        level: the number of dots of its widest relative import. The folders that the dots climb are
            packages, with or without an `__init__.py`.
    """
    top = path.parent
    names = [] if path.name == "__init__.py" else [path.stem]
    while (top / "__init__.py").is_file() or len(names) <= level - (path.name == "__init__.py"):
        if top == top.parent:
            break
        names.insert(0, top.name)
        top = top.parent
    return ".".join(names), top


def import_folders(path: Path, root: Path) -> list[Path]:
    """The folders that imports of a file start from: its root, its own, its repository's and `src` there."""
    folders = [root, path.parent]
    for parent in (root, *root.parents):
        if any((parent / mark).exists() for mark in _PROJECT):
            folders += [parent, parent / "src"]
            break
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
