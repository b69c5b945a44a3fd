"""Classes that a package defines in files that nothing has imported yet, found by what their text says."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.harness.stopping import ImportStoppedError, Stop
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_MOST_FILES = 400


def written_classes(names: frozenset[str], module: str) -> Iterator[type]:
    """The classes with these methods and attributes in the files around a module; the files are imported."""
    own = getattr(sys.modules.get(module), "__file__", None)
    if own is None or not names:
        return
    top = Path(own).parents[module.count(".") + (Path(own).name == "__init__.py")]
    inside = top / module.partition(".")[0] if "." in module else top
    found = sorted(inside.rglob("*.py"), key=lambda path: (path.parent != Path(own).parent, path))
    for path in found[:_MOST_FILES]:
        for name in _classes_with(names, path):
            imported = _imported(path, top, name)
            cls = getattr(imported, name, None)
            if isinstance(cls, type):
                yield cls


def _classes_with(names: frozenset[str], path: Path) -> Iterator[str]:
    """The names of the classes of a file that define all of these themselves."""
    try:
        text = read_program(path)
        if not all(re.search(rb"\b%s\b" % name.encode(), text) for name in names):
            return
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and names <= _defined(node):
            yield node.name


def _defined(owner: ast.ClassDef) -> set[str]:
    """The methods of a class, its attributes, and those that its methods set."""
    found = set()
    for node in ast.walk(owner):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return found


def _imported(path: Path, top: Path, wanted: str) -> ModuleType | None:
    """The module of a file; of one that trains when it is imported, what it has defined by then."""
    name = ".".join(path.relative_to(top).with_suffix("").parts)
    stop = Stop(path, wanted)
    try:
        with stop.watching():
            return importlib.import_module(name)
    except (Exception, SystemExit, ImportStoppedError):  # noqa: BLE001 - a module raises what it likes
        return stop.module
