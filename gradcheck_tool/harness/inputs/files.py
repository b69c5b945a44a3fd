"""Where inputs lie on disk. It runs in the parent process, too, which never imports torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gradcheck_tool.harness.record.places import folder_of
from gradcheck_tool.harness.roots import import_folders
from gradcheck_tool.trust.reading import read_program

if TYPE_CHECKING:
    from gradcheck_tool.harness.functions import FunctionRef

_NAMES = ("gradcheck_*.py", "conftest.py")


def fingerprint(ref: FunctionRef, cache: Path) -> str:
    """Names the state of the recorded inputs of a Function; results are kept until it changes.

    Declared samples are not part of it: their files are known by `sample_files`.
    """
    files = sorted(folder_of(cache, ref.qualname).glob("*.call"))
    return " ".join(f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)


def sample_files(ref: FunctionRef) -> list[Path]:
    """The files that may declare samples of a Function, in order; workers import them.

    They are called `gradcheck_*.py` or `conftest.py`, mention gradlint's package, and lie beside the
    Function, where its imports start from, or in a folder `tests` there.
    """
    folders = import_folders(Path(ref.filename), Path(ref.root))
    places = dict.fromkeys(place for folder in folders for place in (folder, folder / "tests"))
    found = (path for place in places for name in _NAMES for path in sorted(place.glob(name)))
    return [path for path in found if _mentions_gradlint(path)]


def _mentions_gradlint(path: Path) -> bool:
    try:
        return b"gradcheck_tool" in read_program(path)
    except OSError:
        return False
