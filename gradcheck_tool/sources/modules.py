"""Where the repository keeps a module that a file imports."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def find_module(importer: Path, dotted: str, level: int) -> Path | None:
    """The file of a module as seen from a file of the same repository, or None.

    Args:
        importer: absolute path of the importing file.
        dotted: the name after `import` or `from`; empty in `from . import x`.
        level: the number of leading dots.
    """
    parts = [part for part in dotted.split(".") if part]
    if level:
        base = importer.parent
        for _ in range(level - 1):
            base = base.parent
        return _in_folder(base, parts)
    for root in _roots(importer.parent):
        found = _in_folder(root, parts)
        if found is not None and found != importer:
            return found
    return None


def _in_folder(base: Path, parts: list[str]) -> Path | None:
    target = base.joinpath(*parts)
    candidates = (
        [target / "__init__.py"] if not parts else [target / "__init__.py", target.with_suffix(".py")]
    )
    return next((candidate for candidate in candidates if _is_file(candidate)), None)


def _is_file(path: Path) -> bool:
    # Unlike Path.is_file, this takes what may not be looked at for something that is not there.
    return os.path.isfile(path)  # noqa: PTH113


@lru_cache(maxsize=4096)
def _roots(folder: Path) -> tuple[Path, ...]:
    """Folders that absolute imports start from: the script's own, the package's, the repository's."""
    top = folder
    while _is_file(top / "__init__.py") and top != top.parent:
        top = top.parent
    roots = [folder, top]
    for parent in (top, *top.parents):
        if any((parent / mark).exists() for mark in (".git", "pyproject.toml", "setup.py", "setup.cfg")):
            roots += [parent, parent / "src"]
            break
    return tuple(dict.fromkeys(roots))
