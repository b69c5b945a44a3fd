"""What the targets of `gradlint gradcheck` mean: paths, packages, `module:Name` and `path.py:Name`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.sources.discover import discover

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gradcheck_tool.config import Config
    from gradcheck_tool.harness.discovery import Discovery
    from gradcheck_tool.harness.functions import FunctionRef


class TargetError(Exception):
    """A target means nothing: no such path, package, module or Function."""


@dataclass(frozen=True, slots=True)
class _Target:
    """Files (absolute paths), and the qualified name asked for in them, if any."""

    files: tuple[Path, ...]
    name: str | None


def find_functions(
    targets: Iterable[str], folder: Path, config_for: Callable[[Path], Config], discovery: Discovery
) -> list[FunctionRef]:
    """The Functions that the targets mean, each once, in order of file and row.

    Args:
        targets: as given on the command line.
        folder: the folder that the command runs in (absolute); modules are looked up there first.
        config_for: the configuration in force in a folder, for what is excluded.
        discovery: reads the files.

    Raises:
        TargetError: naming the target and what is wrong with it.
        ConfigError: a configuration on the way cannot be used.
    """
    found: set[FunctionRef] = set()
    for text in targets:
        target = _resolve(text, folder, config_for)
        refs = discovery.functions(target.files)
        if target.name is not None:
            refs = [ref for ref in refs if _is_called(ref, target.name)]
            if not refs:
                raise TargetError(f"{text}: no torch.autograd.Function called {target.name!r} there")
        found.update(refs)
    return sorted(found)


def _is_called(ref: FunctionRef, name: str) -> bool:
    """Whether the Function, or a class or function that it stands in, has this qualified name."""
    return ref.qualname == name or ref.qualname.startswith(f"{name}.")


def _resolve(text: str, folder: Path, config_for: Callable[[Path], Config]) -> _Target:
    if (folder / text).exists():
        return _Target(_files(folder / text, config_for), None)
    place, colon, name = text.rpartition(":")
    if not colon:
        place, name = text, ""
    path = folder / place
    if not path.exists():
        path = _module_path(place, folder)
    return _Target(_files(path, config_for), name or None)


def _files(path: Path, config_for: Callable[[Path], Config]) -> tuple[Path, ...]:
    found = discover([path], config_for).files
    # A notebook cannot be imported, and a stub holds no code.
    return tuple(file for file in found if file.suffix == ".py" or file == Path(os.path.abspath(path)))  # noqa: PTH100


def _module_path(dotted: str, folder: Path) -> Path:
    """The file of a module or the folder of a package; nothing is imported on the way.

    Raises:
        TargetError: there is none.
    """
    first, *rest = dotted.split(".")
    spec = None
    if all(part.isidentifier() for part in (first, *rest)):
        spec = PathFinder.find_spec(first, [str(folder), str(folder / "src")]) or find_spec(first)
    for part in rest:
        places = spec.submodule_search_locations if spec is not None else None
        spec = PathFinder.find_spec(part, places) if places else None
    if spec is None:
        raise TargetError(f"{dotted}: no such file, folder or module")
    places = spec.submodule_search_locations
    if places:
        return Path(places[0])
    if spec.origin is None or not spec.has_location:
        raise TargetError(f"{dotted}: has no source file")
    return Path(spec.origin)
