"""Importing the module of a Function in a worker, and saying why where it cannot be."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.harness.roots import import_folders

if TYPE_CHECKING:
    from types import ModuleType

    from gradcheck_tool.harness.functions import FunctionRef


class LoadError(Exception):
    """A Function cannot be had; the text is the cause, in a phrase that needs no more."""


def load_function(ref: FunctionRef) -> type:
    """The class of a Function.

    Raises:
        LoadError: its module cannot be imported, or the class is not there afterwards.
    """
    if "<locals>" in ref.qualname:
        outer = ref.qualname.split(".<locals>")[0]
        raise LoadError(f"defined inside the function {outer!r}: it exists only while that runs")
    module = import_module_of(ref)
    found: Any = module
    for name in ref.qualname.split("."):
        found = getattr(found, name, None)
        if found is None:
            raise LoadError(f"{ref.module} defines no {ref.qualname!r} here: a condition leaves it out")
    if not isinstance(found, type):
        # A decorator put something else in its place, or the name is bound to `Class.apply` afterwards.
        found = getattr(found, "__self__", None)
    if not isinstance(found, type):
        raise LoadError(f"{ref.qualname} is no class once {ref.module} is imported")
    return found


def import_module_of(ref: FunctionRef) -> ModuleType:
    """Import the file of a Function by its dotted name, or as a file where it has none.

    Raises:
        LoadError: with the cause.
    """
    path = Path(ref.filename)
    for folder in reversed(import_folders(path, Path(ref.root))):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    try:
        if all(part.isidentifier() for part in ref.module.split(".")):
            module = importlib.import_module(ref.module)
            if _is_file(module, path):
                return module
        return import_file(path, ref.module)
    except LoadError:
        raise
    except BaseException as error:
        raise LoadError(cause_of(error, path)) from error


def import_file(path: Path, name: str) -> ModuleType:
    """Run a file as a module of this name, or of a like one where another file has taken it.

    Raises:
        ImportError: the file is no Python module.
        Exception: whatever the module raises.
    """
    taken = sys.modules.get(name)
    if taken is not None and not _is_file(taken, path):
        name = f"{name}@{path.parent.name}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
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


def _is_file(module: ModuleType, path: Path) -> bool:
    """Whether a module came from this file; a package of the same name may hide it."""
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == path.resolve()


def cause_of(error: BaseException, path: Path) -> str:
    """Why an import failed, in one line: a missing dependency, an absent device, or what was raised where."""
    text = " ".join(str(error).split())[:300]
    if isinstance(error, ModuleNotFoundError) and error.name:
        kind = "an extension module" if error.name.rpartition(".")[2].startswith("_") else "a module"
        return f"needs {kind} that is missing: {error.name}"
    if any(word in text for word in ("CUDA", "cuda", "NVIDIA", "nvcc", "libcudart", "GPU")):
        return f"needs CUDA: {type(error).__name__}: {text}"
    if isinstance(error, OSError) and ".so" in text:
        return f"needs a library that cannot be loaded: {text}"
    if isinstance(error, SystemExit):
        return "ends the process when it is imported"
    return f"importing it raises {type(error).__name__}: {text}{_place(error, path)}"


def _place(error: BaseException, path: Path) -> str:
    """The row of the file that the error came through, else the innermost place."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if frame.filename == str(path)] or frames[-1:]
    return f" ({Path(mine[-1].filename).name}:{mine[-1].lineno})" if mine else ""
