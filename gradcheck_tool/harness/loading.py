"""Importing the module of a Function in a worker, and saying why where it cannot be."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcheck_tool.harness import absent, without_cuda
from gradcheck_tool.harness.inputs.files import sample_files
from gradcheck_tool.harness.inputs.synthesised.factories import made_by_factory
from gradcheck_tool.harness.notebooks import run_notebook
from gradcheck_tool.harness.roots import import_folders
from gradcheck_tool.harness.stopping import ImportStoppedError, Stop, made_class
from gradcheck_tool.importing import run_file

if TYPE_CHECKING:
    from gradcheck_tool.harness.functions import FunctionRef


# Marks an empty package; its value is why the real one cannot be imported.
_WITHOUT = "__gradlint_without__"


_MOST_MISSING = 12
_STOPPED = "__gradlint_stopped__"
"""Marks a module whose import was stopped."""


class LoadError(Exception):
    """A Function cannot be had; the text is the cause, in a phrase that needs no more."""


def load_function(ref: FunctionRef, seed: int = 0) -> type:
    """The class of a Function; a function that makes it is called with arguments that are made up.

    Raises:
        LoadError: its module cannot be imported, or the class is not there afterwards.
    """
    module = import_module_of(ref)
    if "<locals>" in ref.qualname:
        made = made_class(module.__name__, ref.qualname) or made_by_factory(ref, module.__name__, seed)
        if made is not None:
            return made
        outer = ref.qualname.split(".<locals>")[0]
        raise LoadError(f"defined inside the function {outer!r}, which could not be brought to make it")
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


def import_module_of(ref: FunctionRef) -> types.ModuleType:
    """Import the file of a Function by its dotted name, or as a file where it has none.

    Where modules are missing, empty ones stand in for them, for the Function may do without. Without CUDA,
    what the file moves there stays where it is.

    Raises:
        LoadError: with the cause.
    """
    try:
        return _import(ref)
    except LoadError as error:
        first = last = error
    if without_cuda.stays(str(first.__cause__)):
        return import_module_of(ref)
    missing: list[str] = []
    while (
        (name := absent.missing_name(last.__cause__)) and name not in missing and len(missing) < _MOST_MISSING
    ):
        missing.append(name)
        try:
            with absent.standing_in(missing):
                module = _import(ref)
        except LoadError as error:
            last = error
        else:
            absent.mark(module, missing)
            return module
    raise first


def _import(ref: FunctionRef) -> types.ModuleType:
    path = Path(ref.filename)
    for folder in reversed(import_folders(path, Path(ref.root))):
        if str(folder) not in sys.path and not _is_inside(folder, ref):
            sys.path.insert(0, str(folder))
    stop = Stop(path, ref.qualname.partition(".")[0])
    try:
        with stop.watching():
            if path.suffix == ".ipynb":
                return run_notebook(path, ref.module)
            if _has_name(ref):
                module = _import_dotted(ref)
                if _is_file(module, path):
                    return module
            return import_file(path, ref.module)
    except BaseException as error:
        if isinstance(error, ImportStoppedError) and stop.module is not None:
            vars(stop.module)[_STOPPED] = True
            sys.modules[stop.module.__name__] = stop.module
            return stop.module
        raise LoadError(cause_of(error, path)) from error


def _has_name(ref: FunctionRef) -> bool:
    """Whether an import statement can name the module of a Function."""
    return all(part.isidentifier() for part in ref.module.split("."))


def _is_inside(folder: Path, ref: FunctionRef) -> bool:
    """Whether a folder is that of a module in a package, from which imports do not start."""
    return folder == Path(ref.filename).parent and str(folder) != ref.root and _has_name(ref)


def _import_by_name(name: str, ref: FunctionRef) -> types.ModuleType:
    """Import a module; where it takes modules beside or above its file for top-level ones, it has them.

    Only then: in the folder of a package, names of other libraries stand for modules that are about them.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        folder = _folder_with((error.name or "").partition(".")[0], ref)
        if folder is None:
            raise
    # At the end: the modules of a package must not hide those of the standard library.
    sys.path.append(str(folder))
    return importlib.import_module(name)


def _folder_with(wanted: str, ref: FunctionRef) -> Path | None:
    """The nearest folder above a file with this module or package, where imports do not start from it yet."""
    top = import_folders(Path(ref.filename), Path(ref.root))[-1]
    for folder in Path(ref.filename).parents:
        is_there = (folder / f"{wanted}.py").is_file() or (folder / wanted).is_dir()
        if wanted and is_there and str(folder) not in sys.path:
            return folder
        if folder == top or not folder.is_relative_to(top):
            break
    return None


def remarks(ref: FunctionRef) -> list[str]:
    """What a reader has to know of how the module of a Function was imported."""
    return [*missing_packages(ref), *absent.imported_without(ref.module), *was_stopped(ref)]


def was_stopped(ref: FunctionRef) -> list[str]:
    """A remark where the import of a module was stopped."""
    if not hasattr(sys.modules.get(ref.module), _STOPPED):
        return []
    return [f"importing {ref.module} was stopped: it trains, or takes long"]


def _import_around(name: str, ref: FunctionRef) -> types.ModuleType:
    """Import a module; where modules import each other in a circle, the one it met halfway comes first."""
    try:
        return _import_by_name(name, ref)
    except ImportError as error:
        frames = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
        first = next((n for n in reversed(frames) if n and not n.startswith("importlib")), name)
        if "partially initialized module" not in str(error) or first == name:
            raise
        importlib.import_module(first)
    return importlib.import_module(name)


def _import_dotted(ref: FunctionRef) -> types.ModuleType:
    """Import by name; where a package above does not run, without what that package itself defines."""
    failed = _import_parents(ref)
    try:
        return _import_around(ref.module, ref)
    except BaseException as error:  # noqa: BLE001 - a module raises what it likes
        for name in failed:
            del sys.modules[name]
        # What the package raised is the cause of whatever its modules lack.
        raise next(iter(failed.values()), error) from None


def _import_parents(ref: FunctionRef) -> dict[str, BaseException]:
    """Import the packages above a module; an empty one takes the place of each that cannot be.

    Returns:
        What those raised, by their names. A second attempt would raise something else: modules that were
        not imported to their end stay behind.
    """
    names = ref.module.split(".")[:-1]
    failed: dict[str, BaseException] = {}
    for count in range(1, len(names) + 1):
        name = ".".join(names[:count])
        try:
            _import_by_name(name, ref)
        except BaseException as error:
            if _went_through(error, ref.filename):
                raise
            folder = Path(ref.root, *names[:count])
            empty = types.ModuleType(name)
            empty.__path__ = [str(folder)]
            setattr(empty, _WITHOUT, cause_of(error, folder / "__init__.py"))
            sys.modules[name] = empty
            failed[name] = error
    return failed


def missing_packages(ref: FunctionRef) -> list[str]:
    """A remark for each package above an imported module that an empty one takes the place of."""
    names = ref.module.split(".")[:-1]
    packages = [".".join(names[:count]) for count in range(1, len(names) + 1)]
    return [
        f"{name}/__init__.py was left out: {why}"
        for name in packages
        if (why := getattr(sys.modules.get(name), _WITHOUT, None)) is not None
    ]


def import_samples(ref: FunctionRef) -> list[str]:
    """Import the files that may declare samples of a Function; a remark for each that cannot be."""
    return [problem for path in sample_files(ref) if (problem := _problem_of_samples(path))]


def _problem_of_samples(path: Path) -> str | None:
    try:
        import_file(path, path.stem)
    except BaseException as error:  # noqa: BLE001 - the Function may do without
        return f"{path.name}, which may declare samples, {cause_of(error, path)}"
    return None


def import_file(path: Path, name: str) -> types.ModuleType:
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
    return run_file(path, name)


def _is_file(module: types.ModuleType, path: Path) -> bool:
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
    return f"importing it raises {described(error, path)}"


def _went_through(error: BaseException, filename: str) -> bool:
    """Whether the error was raised while this file ran."""
    return any(frame.filename == filename for frame in traceback.extract_tb(error.__traceback__))


def described(error: BaseException, path: Path) -> str:
    """What was raised, and where, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}{_place(error, path)}"


def _place(error: BaseException, path: Path) -> str:
    """The row of the file that the error came through, else the innermost place."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame for frame in frames if frame.filename == str(path)] or frames[-1:]
    return f" ({Path(mine[-1].filename).name}:{mine[-1].lineno})" if mine else ""
