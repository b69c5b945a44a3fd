"""Found by every Python process that `gradlint record` starts: waits for torch, then starts the recorder.

What the process sees otherwise stays as it was: this folder leaves `sys.path`, and a `sitecustomize` that
this one hides is run after it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_HERE = Path(__file__).resolve().parent


class _WhenTorchIsImported:
    """A finder that only looks over the shoulder of the others, once."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:  # noqa: ARG002
        """The usual spec of torch, with a step after its import; None for everything else."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_record(module: ModuleType) -> None:
            execute(module)
            _record()

        vars(spec.loader)["exec_module"] = execute_and_record
        return spec


def _record() -> None:
    if importlib.util.find_spec("gradcheck_tool") is None:
        sys.path.append(str(_HERE.parents[3]))
    from gradcheck_tool.harness.record.recorder import Recorder

    Recorder(Path(os.environ["GRADLINT_RECORD"])).install()


def _hidden() -> None:
    """Run the `sitecustomize` that would have been found without this one."""
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "GRADLINT_RECORD" in os.environ:
    sys.meta_path.insert(0, _WhenTorchIsImported())
_hidden()
