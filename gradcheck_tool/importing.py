"""Running a Python file as a module, and Python files of which no bytecode is believed."""

from __future__ import annotations

import importlib.util
import os
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import CodeType, ModuleType


def run_file(path: Path, name: str) -> ModuleType:
    """Import a file under a name that no module has; a file that raises leaves no module behind.

    Raises:
        ImportError: the file is no Python module.
        BaseException: whatever the file raises.
    """
    return _run(path, name, None)


def _run(path: Path, name: str, loader: SourceFileLoader | None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def run_source(path: Path, name: str, folder: Path) -> ModuleType:
    """Import a file below a folder whose source alone counts, as `run_file` does.

    Bytecode may have come with the folder, and need not be what the source says. Nothing that the file
    imports from the folder is loaded from bytecode either.

    Raises:
        BaseException: whatever the file raises.
    """
    _never_from_bytecode(folder)
    return _run(path, name, _SourceLoader(name, str(path)))


class _SourceLoader(SourceFileLoader):
    """Loads modules from their source, and neither reads nor writes bytecode."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


@cache
def _never_from_bytecode(folder: Path) -> None:
    """Have Python's own imports load what lies below a folder from source."""
    real = os.path.realpath(folder)

    def is_below(place: str) -> bool:
        return Path(os.path.realpath(place)).is_relative_to(real)

    def finder(place: str) -> FileFinder:
        if not is_below(place):
            raise ImportError(f"{place} is not below {folder}")
        return FileFinder(place, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceLoader, [".py"]))

    sys.path_hooks.insert(0, finder)
    for place in [known for known in sys.path_importer_cache if is_below(known)]:
        del sys.path_importer_cache[place]
