"""Where inputs lie on disk. It runs in the parent process, too, which never imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck_tool.harness.record.places import folder_of

if TYPE_CHECKING:
    from pathlib import Path

    from gradcheck_tool.harness.functions import FunctionRef


def fingerprint(ref: FunctionRef, cache: Path) -> str:
    """Names the state of the recorded inputs of a Function; results are kept until it changes.

    Declared samples are not part of it: their
    files are known by `sample_files`.
    """
    files = sorted(folder_of(cache, ref.qualname).glob("*.call"))
    return " ".join(f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)


def sample_files(root: Path) -> list[Path]:
    """The files beside the package that may declare samples, in order; workers import them.

    Args:
        root: absolute path of a folder that modules are imported from.
    """
    return sorted(path for pattern in ("gradcheck_*.py", "conftest.py") for path in root.glob(pattern))
